"""`ottla diff`: the same requests to Ottla and to an Apache Kafka, and their answers compared."""
