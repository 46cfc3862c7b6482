"""The room `console`."""
