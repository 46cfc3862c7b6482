// franz-go on one listener.
package main

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"ottla.example/securedclients/job"
)

func main() { job.Main(run) }

func run(j job.Job) (int64, error) {
	options, err := settings(j)
	if err != nil {
		return 0, err
	}
	writer, err := kgo.NewClient(options...)
	if err != nil {
		return 0, err
	}
	defer writer.Close()
	reader, err := kgo.NewClient(append(options, kgo.ConsumeTopics(j.Topic), kgo.ConsumerGroup(j.Topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	numbers := job.NewNumbers()
	ended := make(chan error, 1)
	go func() { ended <- read(reader, numbers) }()
	count, err := write(writer, j)
	if err != nil {
		return 0, err
	}
	if err := transactions(options, j.Topic); err != nil {
		return 0, err
	}
	numbers.Sent(count)
	return count, <-ended
}

func write(writer *kgo.Client, j job.Job) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), job.Answer+time.Duration(j.Seconds)*time.Second)
	defer cancel()
	var failure atomic.Value
	var count int64
	for ends := j.Ends(); count < job.Values || time.Now().Before(ends); count++ {
		record := &kgo.Record{Topic: j.Topic, Value: []byte(strconv.FormatInt(count, 10))}
		writer.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				failure.Store(err)
			}
		})
		time.Sleep(time.Millisecond) // the rate of the load
	}
	if err := writer.Flush(ctx); err != nil {
		return count, err
	}
	if err, failed := failure.Load().(error); failed {
		return count, err
	}
	return count, nil
}

func transactions(options []kgo.Opt, topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), job.Answer)
	defer cancel()
	writer, err := kgo.NewClient(append(options, kgo.TransactionalID(topic))...)
	if err != nil {
		return err
	}
	defer writer.Close()
	for _, value := range []string{"aborted", "committed"} {
		if err := writer.BeginTransaction(); err != nil {
			return err
		}
		record := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := writer.ProduceSync(ctx, record).FirstErr(); err != nil {
			return err
		}
		if err := writer.EndTransaction(ctx, kgo.TransactionEndTry(value == "committed")); err != nil {
			return err
		}
	}
	return nil
}

func read(reader *kgo.Client, numbers *job.Numbers) error {
	last := time.Now()
	for !numbers.Complete() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		fetches := reader.PollFetches(ctx)
		cancel()
		for _, fault := range fetches.Errors() {
			if fault.Err != context.DeadlineExceeded {
				return fault.Err
			}
		}
		for _, record := range fetches.Records() {
			last = time.Now()
			if err := numbers.Take(string(record.Value)); err != nil {
				return err
			}
		}
		if time.Since(last) > job.Answer {
			return numbers.Missing()
		}
	}
	return nil
}

func settings(j job.Job) ([]kgo.Opt, error) {
	options := []kgo.Opt{kgo.SeedBrokers(j.Bootstrap)}
	config, err := j.TLS()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	switch j.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: j.Name, Pass: j.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: j.Name, Pass: j.Password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: j.Name, Pass: j.Password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			return oauth.Auth{Token: j.Token()}, nil
		})))
	}
	return options, nil
}
