"""Types of requests, responses and records, made from their schemas by `make message-types`.

There are stubs only: one for each API, `records` for what logs hold, and `answers` for the answers
that a broker reads. They are imported under TYPE_CHECKING. At run time there is nothing to import.
A comment behind a field names the versions that have it, where not all do; a field that a version
lacks has its default.
"""
