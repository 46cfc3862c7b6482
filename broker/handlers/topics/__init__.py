"""Handlers of topics and partitions: Metadata, creation, deletion, leaders, replicas."""
