// Bug: the offsets of the input are committed by the consumer, after the transaction.
//
// A crash between the two leaves the output committed without the offsets: the next start copies the
// records again. Right code uses kgo.GroupTransactSession, as examples/clients/franz-go does.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("OTTLA_BOOTSTRAP"), ",")...),
		kgo.ConsumeTopics(os.Getenv("OTTLA_INPUT")),
		kgo.ConsumerGroup(os.Getenv("OTTLA_GROUP")),
		kgo.TransactionalID(os.Getenv("OTTLA_TRANSACTIONAL_ID")),
		kgo.DefaultProduceTopic(os.Getenv("OTTLA_OUTPUT")),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(300*time.Millisecond),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	for running.Err() == nil {
		copyNext(client)
		client.AllowRebalance()
	}
}

func copyNext(client *kgo.Client) {
	polling, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	records := client.PollRecords(polling, 10).Records()
	if len(records) == 0 {
		return
	}
	if err := client.BeginTransaction(); err != nil {
		log.Fatal(err)
	}
	written := kgo.AbortingFirstErrPromise(client)
	for _, each := range records {
		copied := &kgo.Record{Key: each.Key, Value: each.Value}
		client.Produce(context.Background(), copied, written.Promise())
	}
	if err := written.Err(); err != nil {
		log.Fatal(err)
	}
	if err := client.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
		log.Fatal(err)
	}
	if err := client.CommitRecords(context.Background(), records...); err != nil {
		log.Fatal(err)
	}
}
