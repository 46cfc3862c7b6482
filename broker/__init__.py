"""The broker: sockets, requests and their handlers, running coordinators, timed jobs."""
