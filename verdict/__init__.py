"""Judges what clients did: rules of the protocol over the events of a trace. Pure folds."""
