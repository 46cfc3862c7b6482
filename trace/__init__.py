"""What a broker writes of its clients, as typed events; reads and shows them.

`events.py` has a struct for each kind of line, which the lab (`lab/tracing/trace.py`) makes and
every reader gets; `reader.py` reads a file, also while a broker writes it; `exchanges.py` puts a
request, its answer and its changes together; `messages.py` says what the messages have in any API.
`view.py` makes a line of each request, `words.py` says in a few words what it asks and gets,
`lanes.py` draws transactions, groups and clients side by side (`lane_rows.py` has what happened),
`rows.py` and `parquet.py` make tables. `expected_errors.py` has the errors that are no trouble,
`wildcards.py` compares names with * and ?.

May enter: what reads, shows or converts events that a broker wrote. Not: judgement of them, which
is `ottla.verdict`, nor requests. It imports of Ottla's rooms only `ottla.protocol`.
Begin with `events.py`.
"""
