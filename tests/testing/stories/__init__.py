"""Failing tests of a user's project, and what their pages have to show."""
