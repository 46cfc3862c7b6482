"""Generators of stubs and pages."""
