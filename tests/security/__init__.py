"""The room `security`: SASL without sockets and clock, compared with answers of Apache Kafka."""
