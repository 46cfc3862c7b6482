module ottla.example/copylibrdkafka

go 1.26.0

require github.com/confluentinc/confluent-kafka-go v1.8.2
