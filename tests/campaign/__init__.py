"""The storage of a broker stops at every file operation; acknowledged data survive."""
