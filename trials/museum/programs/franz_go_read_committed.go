// Reads committed records of a partition to the record "last".
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Getenv("KAFKA_BOOTSTRAP_SERVERS")),
		kgo.ClientID("museum"),
		kgo.ConsumeTopics("museum"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for {
		last := false
		client.PollFetches(context.Background()).EachRecord(func(record *kgo.Record) {
			fmt.Println("seen: read", string(record.Value))
			last = last || string(record.Value) == "last"
		})
		if last {
			return
		}
	}
}
