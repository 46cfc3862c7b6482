"""Handlers of brokers and the cluster: versions, features, the quorum, coordinators, disks."""
