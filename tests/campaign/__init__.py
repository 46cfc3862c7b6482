"""A broker's storage stopped at every change of its files: what was acknowledged is there."""
