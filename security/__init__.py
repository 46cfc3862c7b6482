"""Authentication of clients: SASL mechanisms and the order of their messages, without I/O."""
