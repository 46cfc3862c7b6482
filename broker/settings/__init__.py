"""Settings: tables of Kafka's settings, their rules, listeners and properties files."""
