"""Tests of `ottla torture`."""
