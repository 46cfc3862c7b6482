"""The lab: faults in a running broker, its trace, its clock and given states, for tests."""
