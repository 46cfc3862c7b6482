"""The coordinators as pure state machines: transactions, groups, offsets. No clock, file, await."""
