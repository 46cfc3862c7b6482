"""Kafka's shell tools on Ottla's own client, for scripts that are written for Kafka's images."""
