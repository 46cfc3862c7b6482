"""Converts bytes to messages and back. Pure; the only room that imports kafka-python."""
