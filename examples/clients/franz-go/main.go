// Copies a topic exactly once with franz-go.
//
// It runs against any Kafka, and is a program for `ottla conform -- ./franz-go` and for `ottla torture`.
// If OTTLA_RECORDS is 0 it copies until SIGTERM.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("OTTLA_BOOTSTRAP"), ",")...),
		kgo.ConsumeTopics(os.Getenv("OTTLA_INPUT")),
		kgo.ConsumerGroup(os.Getenv("OTTLA_GROUP")),
		kgo.TransactionalID(os.Getenv("OTTLA_TRANSACTIONAL_ID")),
		kgo.DefaultProduceTopic(os.Getenv("OTTLA_OUTPUT")),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RequireStableFetchOffsets(),
		kgo.HeartbeatInterval(time.Duration(number("COPY_HEARTBEAT_INTERVAL_MS", 3000)) * time.Millisecond),
	}
	if os.Getenv("COPY_GROUP_PROTOCOL") == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	wanted := number("OTTLA_RECORDS", 0)
	session := begin(options)
	for copied := 0; (wanted == 0 || copied < wanted) && running.Err() == nil; {
		count, err := copyNext(session)
		copied += count
		if err != nil {
			// Whether the transaction was committed may be unknown. A new client aborts what is open, and
			// goes on from the committed offsets. If another process took the id, this one ends.
			log.Print(err)
			session.Close()
			if isFenced(err) {
				os.Exit(1)
			}
			session = begin(options)
		}
	}
	session.Close()
}

func begin(options []kgo.Opt) *kgo.GroupTransactSession {
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

func isFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

// number is the value of a variable, or another one without it.
func number(name string, otherwise int) int {
	text, found := os.LookupEnv(name)
	if !found {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// copyNext copies records in one transaction, and returns their number; 0 if it was aborted, for
// instance after a rebalance. After an error the session is of no more use.
func copyNext(session *kgo.GroupTransactSession) (int, error) {
	polling, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	fetches := session.PollRecords(polling, 10)
	fetches.EachError(func(topic string, partition int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			log.Printf("%s-%d: %v", topic, partition, err)
		}
	})
	records := fetches.Records()
	if len(records) == 0 {
		return 0, nil
	}
	if err := session.Begin(); err != nil {
		return 0, err
	}
	written := kgo.AbortingFirstErrPromise(session.Client())
	for _, each := range records {
		copied := &kgo.Record{Key: each.Key, Value: each.Value}
		session.Produce(context.Background(), copied, written.Promise())
	}
	isWritten := written.Err() == nil
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(isWritten))
	if !committed {
		return 0, err
	}
	return len(records), err
}
