// Sends one record and waits for its acknowledgement.
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
	config.Producer.Return.Successes = true
	brokers := strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")
	producer, err := sarama.NewSyncProducer(brokers, config)
	if err != nil {
		panic(err)
	}
	message := &sarama.ProducerMessage{Topic: "museum", Value: sarama.StringEncoder("a")}
	_, offset, err := producer.SendMessage(message)
	if err != nil {
		fmt.Println("seen: failed", err)
	} else {
		fmt.Println("seen: sent", offset)
	}
	producer.Close()
}
