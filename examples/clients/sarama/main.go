// Copies a topic exactly once with sarama.
//
// It runs against any Kafka, and is a program for `ottla conform -- ./sarama`.
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const (
	most    = 10
	waiting = 300 * time.Millisecond
)

// copier copies what its group assigns to it; after `wanted` records it stops.
type copier struct {
	producer sarama.SyncProducer
	wanted   int
	copied   int
	stop     context.CancelFunc
}

func main() {
	wanted, err := strconv.Atoi(os.Getenv("OTTLA_RECORDS"))
	if err != nil {
		log.Fatal(err)
	}
	cluster := strings.Split(os.Getenv("OTTLA_BOOTSTRAP"), ",")
	producer, err := sarama.NewSyncProducer(cluster, producerSettings())
	if err != nil {
		log.Fatal(err)
	}
	group, err := sarama.NewConsumerGroup(cluster, os.Getenv("OTTLA_GROUP"), consumerSettings())
	if err != nil {
		log.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	copying := &copier{producer: producer, wanted: wanted, stop: stop}
	for running.Err() == nil {
		if err := group.Consume(running, []string{os.Getenv("OTTLA_INPUT")}, copying); err != nil {
			log.Print(err)
			time.Sleep(waiting)
		}
	}
	if err := group.Close(); err != nil {
		log.Print(err)
	}
	if err := producer.Close(); err != nil {
		log.Print(err)
	}
}

func settings() *sarama.Config {
	found := sarama.NewConfig()
	// The highest version that it knows; it takes less if the broker has less.
	found.Version = sarama.MaxVersion
	found.Metadata.Retry.Max = 20
	return found
}

func producerSettings() *sarama.Config {
	found := settings()
	found.Producer.Transaction.ID = os.Getenv("OTTLA_TRANSACTIONAL_ID")
	found.Producer.Idempotent = true
	found.Producer.RequiredAcks = sarama.WaitForAll
	found.Producer.Return.Successes = true
	found.Net.MaxOpenRequests = 1
	return found
}

func consumerSettings() *sarama.Config {
	found := settings()
	found.Consumer.IsolationLevel = sarama.ReadCommitted
	found.Consumer.Offsets.AutoCommit.Enable = false
	found.Consumer.Offsets.Initial = sarama.OffsetOldest
	return found
}

func (*copier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim copies a partition. After an aborted transaction it ends, so that the next session
// of the group begins at the committed offset.
func (c *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		messages := next(session.Context(), claim.Messages())
		if len(messages) > 0 {
			if err := c.copy(session, messages); err != nil {
				log.Print(err)
				return nil
			}
			if c.copied += len(messages); c.copied >= c.wanted {
				c.stop()
			}
		}
		if session.Context().Err() != nil {
			return nil
		}
	}
}

// next takes what comes in a while, at most ten messages.
func next(session context.Context, messages <-chan *sarama.ConsumerMessage) []*sarama.ConsumerMessage {
	var found []*sarama.ConsumerMessage
	late := time.After(waiting)
	for len(found) < most {
		select {
		case each, ok := <-messages:
			if !ok {
				return found
			}
			found = append(found, each)
		case <-late:
			return found
		case <-session.Done():
			return nil
		}
	}
	return found
}

// copy copies messages in one transaction; an error says that it was aborted.
func (c *copier) copy(session sarama.ConsumerGroupSession, messages []*sarama.ConsumerMessage) error {
	if err := c.producer.BeginTxn(); err != nil {
		return c.abort(err)
	}
	var copies []*sarama.ProducerMessage
	for _, each := range messages {
		copies = append(copies, &sarama.ProducerMessage{
			Topic: os.Getenv("OTTLA_OUTPUT"),
			Key:   sarama.ByteEncoder(each.Key),
			Value: sarama.ByteEncoder(each.Value),
		})
	}
	if err := c.producer.SendMessages(copies); err != nil {
		return c.abort(err)
	}
	member := sarama.NewConsumerGroupMetadataFromSession(session, os.Getenv("OTTLA_GROUP"), nil)
	last := messages[len(messages)-1]
	if err := c.producer.AddMessageToTxnWithGroupMetadata(last, member, nil); err != nil {
		return c.abort(err)
	}
	for {
		err := c.producer.CommitTxn()
		if err == nil {
			return nil
		}
		if c.producer.TxnStatus()&(sarama.ProducerTxnFlagAbortableError|sarama.ProducerTxnFlagFatalError) != 0 {
			return c.abort(err)
		}
		log.Print(err)
	}
}

// abort aborts the transaction. After a fatal error the program ends.
func (c *copier) abort(reason error) error {
	for {
		if c.producer.TxnStatus()&sarama.ProducerTxnFlagFatalError != 0 {
			log.Fatal(reason)
		}
		err := c.producer.AbortTxn()
		if err == nil {
			return reason
		}
		log.Print(err)
		time.Sleep(waiting)
	}
}
