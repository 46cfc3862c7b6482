"""Judges clients: the trace of any program, or a program in a schedule of scenarios."""
