"""Tests of the rules over traces, of `ottla conform` and of what it runs."""
