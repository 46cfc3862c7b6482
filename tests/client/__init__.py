"""The room `client`."""
