"""Kills driver, executor and broker of the exactly-once sink, at each step and at random points."""
