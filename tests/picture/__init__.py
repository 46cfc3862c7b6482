"""The room `picture`."""
