"""Sockets and connections: received bytes to request frames, responses to sent bytes."""
