"""Handlers of settings and client quotas."""
