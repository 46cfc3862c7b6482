"""The segments of a log: data files with their indexes, reads, searches, unverified parts.

May enter: what works on one segment or on the list of them. Not: producers, and decisions about the
whole log. Begin with `segment.py`; `log_segments.py` has the list.
"""
