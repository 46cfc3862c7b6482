"""Reads and shows traces: the requests of clients with what each changed, as a broker wrote them.

`view.py` reads the events of a file and prints a line for each request; `follower.py` reads a file
while a broker writes it; `words.py` says in a few words what a request asks and an answer says;
`lanes.py` draws transactions side by side; `rows.py` and `parquet.py` make tables. The broker's
side, which writes the events, is `ottla.lab.trace`.

May enter: what reads, shows or converts events that a broker wrote. Not: judgement of them, which
is `ottla.verdict`, nor requests.
Begin with `view.py`.
"""
