"""Schemas of records, in Kafka's JSON format, for what the codec library lacks."""
