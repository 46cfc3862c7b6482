"""The broker: sockets, dispatch, a handler for each API, coordinators at work, background jobs."""
