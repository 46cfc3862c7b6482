"""The room `trace`."""
