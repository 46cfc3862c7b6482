"""The room `browse`."""
