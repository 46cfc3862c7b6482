"""The files of the metadata: its log, snapshots, and the state of the quorum.

May enter: formats of `__cluster_metadata-0`. What the records mean is in the room `metadata/`.
Begin with `metadata_log.py`.
"""
