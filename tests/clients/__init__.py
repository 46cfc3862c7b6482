"""Stock clients with a running broker."""
