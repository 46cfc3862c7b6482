"""The broker: sockets, requests and their handlers, running state machines, timed jobs.

From the bottom: `settings/` (tables of Kafka's settings), `scheduling/` (who gets the event loop),
`runtime/` (shards, topic logs, controller, flushes, fetch sessions), `upkeep/` (timed jobs),
`requests/` (from a frame to a handler), `handlers/` (one module for each API), `net/`
(connections). `node.py` is one broker id, `cluster.py` what all nodes of a process share,
`server.py` starts and stops them.

Time comes from `clock.py` alone. Begin with `server.py`, then `requests/dispatch.py`.
"""
