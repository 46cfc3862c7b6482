"""The outside: sockets, dispatch, one handler file per API, wiring, time, background work."""
