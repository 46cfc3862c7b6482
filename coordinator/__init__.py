"""Pure state machines: transactions, producer ids, groups, offsets. No clock, no file, no await."""
