"""Tests of share groups without clock, log or broker."""
