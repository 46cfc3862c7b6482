// Reads a partition from its beginning to the record "last".
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/IBM/sarama"
)

func main() {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.ClientID = "museum"
	config.Consumer.Fetch.Default = 60 // a batch in each answer
	brokers := strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")
	consumer, err := sarama.NewConsumer(brokers, config)
	if err != nil {
		panic(err)
	}
	partition, err := consumer.ConsumePartition("museum", 0, 0)
	if err != nil {
		panic(err)
	}
	for message := range partition.Messages() {
		fmt.Println("seen: read", message.Offset)
		if string(message.Value) == "last" {
			break
		}
	}
}
