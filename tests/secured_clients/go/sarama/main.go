// sarama on one listener.
package main

import (
	"context"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"ottla.example/securedclients/job"
)

func main() { job.Main(run) }

func run(j job.Job) (int64, error) {
	config, err := settings(j)
	if err != nil {
		return 0, err
	}
	group, err := sarama.NewConsumerGroup([]string{j.Bootstrap}, j.Topic, config)
	if err != nil {
		return 0, err
	}
	defer group.Close()
	numbers := job.NewNumbers()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	handler := &reader{numbers: numbers, failed: make(chan error, 1)}
	go func() {
		for ctx.Err() == nil { // Consume returns at each rebalance
			if err := group.Consume(ctx, []string{j.Topic}, handler); err != nil {
				handler.fail(err)
				return
			}
		}
	}()
	count, err := write(config, j)
	if err != nil {
		return 0, err
	}
	if err := transactions(config, j); err != nil {
		return 0, err
	}
	numbers.Sent(count)
	return count, handler.wait()
}

// write has the values of a millisecond sent together, each acknowledged.
func write(config *sarama.Config, j job.Job) (int64, error) {
	writer, err := sarama.NewAsyncProducer([]string{j.Bootstrap}, config)
	if err != nil {
		return 0, err
	}
	acknowledged := make(chan error, 1)
	go func() { // the first error, or none when all are acknowledged
		var first error
		for successes, failures := writer.Successes(), writer.Errors(); successes != nil || failures != nil; {
			select {
			case _, open := <-successes:
				if !open {
					successes = nil
				}
			case failure, open := <-failures:
				if !open {
					failures = nil
				} else if first == nil {
					first = failure.Err
				}
			}
		}
		acknowledged <- first
	}()
	var count int64
	for ends := j.Ends(); count < job.Values || time.Now().Before(ends); count++ {
		writer.Input() <- message(j.Topic, strconv.FormatInt(count, 10))
		time.Sleep(time.Millisecond) // the rate of the load
	}
	writer.AsyncClose()
	return count, <-acknowledged
}

func transactions(config *sarama.Config, j job.Job) error {
	transactional := *config
	transactional.Producer.Transaction.ID = j.Topic
	writer, err := sarama.NewSyncProducer([]string{j.Bootstrap}, &transactional)
	if err != nil {
		return err
	}
	defer writer.Close()
	for _, value := range []string{"aborted", "committed"} {
		if err := writer.BeginTxn(); err != nil {
			return err
		}
		if _, _, err := writer.SendMessage(message(j.Topic, value)); err != nil {
			return err
		}
		end := writer.CommitTxn
		if value == "aborted" {
			end = writer.AbortTxn
		}
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

func message(topic, value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
}

// reader is the handler of the group.
type reader struct {
	numbers *job.Numbers
	failed  chan error
}

func (r *reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() {
		if err := r.numbers.Take(string(record.Value)); err != nil {
			r.fail(err)
			return err
		}
		session.MarkMessage(record, "")
	}
	return nil
}

func (r *reader) fail(err error) {
	select {
	case r.failed <- err:
	default: // the first one counts
	}
}

func (r *reader) wait() error {
	for ends := time.Now().Add(job.Answer); !r.numbers.Complete(); {
		select {
		case err := <-r.failed:
			return err
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(ends) {
			return r.numbers.Missing()
		}
	}
	return nil
}

func settings(j job.Job) (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_9_0_0
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	tls, err := j.TLS()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = tls != nil, tls
	if j.Mechanism == "" {
		return config, nil
	}
	sasl := &config.Net.SASL
	sasl.Enable, sasl.Version, sasl.Mechanism = true, sarama.SASLHandshakeV1, sarama.SASLMechanism(j.Mechanism)
	sasl.User, sasl.Password, sasl.TokenProvider = j.Name, j.Password, tokens{j}
	hash := scram.SHA256
	if j.Mechanism == sarama.SASLTypeSCRAMSHA512 {
		hash = scram.SHA512
	}
	sasl.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &conversation{hash: hash} }
	return config, nil
}

type tokens struct{ job.Job }

func (t tokens) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: t.Job.Token()}, nil
}

// conversation is SCRAM, which sarama leaves to its user.
type conversation struct {
	*scram.ClientConversation
	hash scram.HashGeneratorFcn
}

func (c *conversation) Begin(name, password, authorization string) error {
	client, err := c.hash.NewClient(name, password, authorization)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}
