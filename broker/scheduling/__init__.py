"""Lets long work share the event loop with other requests: slices, threads, garbage collection."""
