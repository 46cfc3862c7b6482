"""Programs for `ottla torture`: planted bugs, and the right ones of examples/clients."""
