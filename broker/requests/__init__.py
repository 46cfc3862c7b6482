"""Dispatch of requests to their handlers, guards, and code that several handlers share."""
