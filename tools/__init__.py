"""Generators of stubs and pages for the developers of Ottla; not installed."""
