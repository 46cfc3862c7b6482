"""The room `testing`."""
