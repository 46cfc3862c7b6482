// Copies a topic with segmentio's kafka-go, which has no transactions: at least once.
//
// It runs against any Kafka, and is a program for `ottla conform --at-least-once -- ./kafka-go`.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	most    = 10
	waiting = 300 * time.Millisecond
)

func main() {
	wanted, err := strconv.Atoi(os.Getenv("OTTLA_RECORDS"))
	if err != nil {
		log.Fatal(err)
	}
	cluster := strings.Split(os.Getenv("OTTLA_BOOTSTRAP"), ",")
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:        cluster,
		GroupID:        os.Getenv("OTTLA_GROUP"),
		Topic:          os.Getenv("OTTLA_INPUT"),
		StartOffset:    kafka.FirstOffset,
		IsolationLevel: kafka.ReadCommitted,
		MinBytes:       1,
		MaxBytes:       1 << 20,
		MaxWait:        waiting,
	})
	writer := &kafka.Writer{
		Addr:         kafka.TCP(cluster...),
		Topic:        os.Getenv("OTTLA_OUTPUT"),
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 10 * time.Millisecond,
	}
	for copied := 0; copied < wanted; {
		copied += copyNext(reader, writer)
	}
	if err := errors.Join(reader.Close(), writer.Close()); err != nil {
		log.Print(err)
	}
}

// copyNext copies what comes in a while, and returns the number of records.
func copyNext(reader *kafka.Reader, writer *kafka.Writer) int {
	var found []kafka.Message
	polling, stop := context.WithTimeout(context.Background(), waiting)
	defer stop()
	for len(found) < most {
		message, err := reader.FetchMessage(polling)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				log.Print(err)
			}
			break
		}
		found = append(found, message)
	}
	if len(found) == 0 {
		return 0
	}
	var copies []kafka.Message
	for _, each := range found {
		copies = append(copies, kafka.Message{Key: each.Key, Value: each.Value})
	}
	again(func() error { return writer.WriteMessages(context.Background(), copies...) })
	again(func() error { return reader.CommitMessages(context.Background(), found...) })
	return len(found)
}

// again calls until there is no error.
func again(call func() error) {
	for {
		err := call()
		if err == nil {
			return
		}
		log.Print(err)
		time.Sleep(waiting)
	}
}
