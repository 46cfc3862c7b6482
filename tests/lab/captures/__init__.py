"""Tests of captures."""
