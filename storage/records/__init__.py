"""Batches and their records as bytes: walks, checks of a client's batch, copies, recompression.

May enter: what reads or makes batches, without files. Begin with `client_batch.py`, which checks
what a client appends.
"""
