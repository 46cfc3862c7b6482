"""Handlers of groups: classic, consumer and streams groups, and their offsets."""
