"""Programs of the exhibits: each uses a client in the ordinary way, and prints what it sees."""
