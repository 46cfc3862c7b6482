// Copies a topic exactly once with librdkafka 1.8, by confluent-kafka-go 1.8: the oldest for Kafka 4 (KIP-896).
//
// It runs against any Kafka, and is a program for `ottla conform -- ./librdkafka-go`.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"
)

const (
	most    = 10
	waiting = 300 * time.Millisecond
	timeout = 10 * time.Second
)

func main() {
	wanted, err := strconv.Atoi(os.Getenv("OTTLA_RECORDS"))
	if err != nil {
		log.Fatal(err)
	}
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers":  os.Getenv("OTTLA_BOOTSTRAP"),
		"group.id":           os.Getenv("OTTLA_GROUP"),
		"isolation.level":    "read_committed",
		"enable.auto.commit": false,
		"auto.offset.reset":  "earliest",
		"check.crcs":         true,
	})
	if err != nil {
		log.Fatal(err)
	}
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": os.Getenv("OTTLA_BOOTSTRAP"),
		"transactional.id":  os.Getenv("OTTLA_TRANSACTIONAL_ID"),
	})
	if err != nil {
		log.Fatal(err)
	}
	go readDeliveries(producer)
	if err := consumer.Subscribe(os.Getenv("OTTLA_INPUT"), nil); err != nil {
		log.Fatal(err)
	}
	if err := again(producer.InitTransactions); err != nil {
		log.Fatal(err)
	}
	for copied := 0; copied < wanted; {
		messages := next(consumer)
		if len(messages) == 0 {
			continue
		}
		if isCopied(consumer, producer, messages) {
			copied += len(messages)
		} else {
			goBack(consumer)
		}
	}
	producer.Close()
	if err := consumer.Close(); err != nil {
		log.Print(err)
	}
}

// readDeliveries empties the channel of events, or the producer would wait for it.
func readDeliveries(producer *kafka.Producer) {
	for event := range producer.Events() {
		if failed, ok := event.(kafka.Error); ok {
			log.Print(failed)
		}
	}
}

// next takes what comes in a while, at most ten messages.
func next(consumer *kafka.Consumer) []*kafka.Message {
	var found []*kafka.Message
	deadline := time.Now().Add(waiting)
	for len(found) < most && time.Now().Before(deadline) {
		// A negative time would be no limit.
		message, err := consumer.ReadMessage(max(time.Until(deadline), time.Millisecond))
		if err != nil {
			if failed := (kafka.Error{}); errors.As(err, &failed) && failed.Code() != kafka.ErrTimedOut {
				log.Print(err)
			}
			continue
		}
		found = append(found, message)
	}
	return found
}

// isCopied copies messages in one transaction; false if it was aborted.
func isCopied(consumer *kafka.Consumer, producer *kafka.Producer, messages []*kafka.Message) bool {
	if err := producer.BeginTransaction(); err != nil {
		log.Fatal(err)
	}
	output := os.Getenv("OTTLA_OUTPUT")
	for _, each := range messages {
		place := kafka.TopicPartition{Topic: &output, Partition: kafka.PartitionAny}
		copied := &kafka.Message{TopicPartition: place, Key: each.Key, Value: each.Value}
		if err := producer.Produce(copied, nil); err != nil {
			return abort(producer, err)
		}
	}
	last := messages[len(messages)-1].TopicPartition
	last.Offset++
	member, err := consumer.GetConsumerGroupMetadata()
	if err != nil {
		log.Fatal(err)
	}
	err = again(func(limit context.Context) error {
		return producer.SendOffsetsToTransaction(limit, []kafka.TopicPartition{last}, member)
	})
	if err != nil {
		return abort(producer, err)
	}
	if err := again(producer.CommitTransaction); err != nil {
		return abort(producer, err)
	}
	return true
}

// abort aborts the transaction, and returns false. An error that needs no abort ends the program.
func abort(producer *kafka.Producer, reason error) bool {
	log.Print(reason)
	if failed := (kafka.Error{}); errors.As(reason, &failed) && !failed.TxnRequiresAbort() {
		log.Fatal(reason)
	}
	if err := again(producer.AbortTransaction); err != nil {
		log.Fatal(err)
	}
	return false
}

// goBack reads again from the committed offsets.
func goBack(consumer *kafka.Consumer) {
	places, err := consumer.Assignment()
	if err != nil {
		log.Fatal(err)
	}
	committed, err := consumer.Committed(places, int(timeout.Milliseconds()))
	if err != nil {
		log.Fatal(err)
	}
	for _, each := range committed {
		each.Offset = max(each.Offset, 0)
		if err := consumer.Seek(each, int(timeout.Milliseconds())); err != nil {
			log.Print(err)
		}
	}
}

// again calls a function of transactions as long as its error can be tried again.
func again(call func(context.Context) error) error {
	for {
		limit, stop := context.WithTimeout(context.Background(), timeout)
		err := call(limit)
		stop()
		if failed := (kafka.Error{}); !errors.As(err, &failed) || !failed.IsRetriable() {
			return err
		}
	}
}
