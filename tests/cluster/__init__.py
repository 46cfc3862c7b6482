"""Stock clients on a cluster whose nodes stop, start and hand leaders over while they work."""
