"""Published bugs of Kafka clients, each as a replay: one program, two versions of its client."""
