"""Stock clients against a running broker."""
