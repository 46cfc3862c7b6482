// Reads a partition from its beginning to the record "last".
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/segmentio/kafka-go"
)

func main() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{os.Getenv("KAFKA_BOOTSTRAP_SERVERS")},
		Dialer:    &kafka.Dialer{ClientID: "museum"},
		Topic:     "museum",
		Partition: 0,
		MaxBytes:  80, // a batch in each answer
	})
	for {
		message, err := reader.ReadMessage(context.Background())
		if err != nil {
			fmt.Println("seen: failed", err)
			return
		}
		fmt.Println("seen: read", message.Offset)
		if string(message.Value) == "last" {
			return
		}
	}
}
