"""Sockets and connections: bytes to frames, frames to requests, answers to bytes."""
