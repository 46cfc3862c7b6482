"""The state of a cluster, replayed from records: topics, brokers, settings, ACLs. Pure."""
