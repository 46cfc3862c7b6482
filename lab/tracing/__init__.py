"""What a request shows to rules and to the trace, and the trace of a broker.

May enter: what looks at requests, answers and events. The trace's types are those of the room
`trace/`. Begin with `trace.py`.
"""
