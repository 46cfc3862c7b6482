"""The room `trials`."""
