// Copies a record in a transaction, as a member of a group; the broker does not say how it ended.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(os.Getenv("KAFKA_BOOTSTRAP_SERVERS")),
		kgo.ClientID("museum"),
		kgo.TransactionalID("shop"),
		kgo.ConsumerGroup("museum"),
		kgo.ConsumeTopics("museum"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fetches := session.PollFetches(ctx)
	if err := session.Begin(); err != nil {
		panic(err)
	}
	fetches.EachRecord(func(record *kgo.Record) {
		session.Produce(ctx, &kgo.Record{Topic: "copy", Value: record.Value}, nil)
	})
	committed, err := session.End(ctx, kgo.TryCommit)
	fmt.Println("seen: committed", committed, err)
}
