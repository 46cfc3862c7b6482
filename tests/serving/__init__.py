"""The room `serving`."""
