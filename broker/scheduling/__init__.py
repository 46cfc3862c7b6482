"""How long work shares the event loop: slices, threads, garbage collection."""
