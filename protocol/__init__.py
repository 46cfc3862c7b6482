"""Bytes to messages and back. Pure; the only room that knows kafka-python."""
