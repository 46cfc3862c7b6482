// Copies a topic exactly once with franz-go.
//
// It runs against any Kafka, and is a program for `ottla conform -- ./franz-go`.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	wanted, err := strconv.Atoi(os.Getenv("OTTLA_RECORDS"))
	if err != nil {
		log.Fatal(err)
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("OTTLA_BOOTSTRAP"), ",")...),
		kgo.ConsumeTopics(os.Getenv("OTTLA_INPUT")),
		kgo.ConsumerGroup(os.Getenv("OTTLA_GROUP")),
		kgo.TransactionalID(os.Getenv("OTTLA_TRANSACTIONAL_ID")),
		kgo.DefaultProduceTopic(os.Getenv("OTTLA_OUTPUT")),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RequireStableFetchOffsets(),
	}
	if os.Getenv("COPY_GROUP_PROTOCOL") == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for copied := 0; copied < wanted; {
		copied += copyNext(session)
	}
}

// copyNext copies records in one transaction, and returns their number; 0 if it was aborted.
func copyNext(session *kgo.GroupTransactSession) int {
	polling, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	fetches := session.PollRecords(polling, 10)
	fetches.EachError(func(topic string, partition int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			log.Printf("%s-%d: %v", topic, partition, err)
		}
	})
	records := fetches.Records()
	if len(records) == 0 {
		return 0
	}
	if err := session.Begin(); err != nil {
		log.Fatal(err)
	}
	written := kgo.AbortingFirstErrPromise(session.Client())
	for _, each := range records {
		copied := &kgo.Record{Key: each.Key, Value: each.Value}
		session.Produce(context.Background(), copied, written.Promise())
	}
	isWritten := written.Err() == nil
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(isWritten))
	if err != nil {
		log.Print(err)
	}
	if !committed {
		return 0
	}
	return len(records)
}
