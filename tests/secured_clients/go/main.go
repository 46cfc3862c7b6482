// franz-go on one listener. The arguments are the fields of a job (job.py); the output is a line.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	values = 20
	answer = 20 * time.Second
)

type job struct {
	bootstrap, protocol, mechanism, name, password, authority, key, topic string
	seconds                                                               float64
}

func main() {
	a := os.Args[1:]
	seconds, err := strconv.ParseFloat(a[8], 64)
	if err == nil {
		err = run(job{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], seconds})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(j job) error {
	options, err := settings(j)
	if err != nil {
		return err
	}
	writer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer writer.Close()
	reader, err := kgo.NewClient(append(options, kgo.ConsumeTopics(j.topic), kgo.ConsumerGroup(j.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	var sent atomic.Int64
	sent.Store(-1) // not known yet
	ended := make(chan error, 1)
	go func() { ended <- read(reader, &sent) }()
	count, err := write(writer, j)
	if err != nil {
		return err
	}
	if err := commit(options, j.topic); err != nil {
		return err
	}
	sent.Store(count)
	if err := <-ended; err != nil {
		return err
	}
	fmt.Printf("%d sent, %d read, with a transaction\n", count, count)
	return nil
}

func write(writer *kgo.Client, j job) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answer+time.Duration(j.seconds)*time.Second)
	defer cancel()
	var failure atomic.Value
	var count int64
	ends := time.Now().Add(time.Duration(j.seconds * float64(time.Second)))
	for count < values || time.Now().Before(ends) {
		record := &kgo.Record{Topic: j.topic, Value: []byte(strconv.FormatInt(count, 10))}
		writer.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				failure.Store(err)
			}
		})
		count++
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

func commit(options []kgo.Opt, topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answer)
	defer cancel()
	writer, err := kgo.NewClient(append(options, kgo.TransactionalID(topic))...)
	if err != nil {
		return err
	}
	defer writer.Close()
	if err := writer.BeginTransaction(); err != nil {
		return err
	}
	record := &kgo.Record{Topic: topic, Value: []byte("committed")}
	if err := writer.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	return writer.EndTransaction(ctx, kgo.TryCommit)
}

// read takes numbers in order, each once, and one record of a transaction.
func read(reader *kgo.Client, sent *atomic.Int64) error {
	var count int64
	committed := false
	last := time.Now()
	for !(committed && count == sent.Load()) {
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
			value := string(record.Value)
			if value == "committed" && !committed {
				committed = true
				continue
			}
			if value != strconv.FormatInt(count, 10) {
				return fmt.Errorf("read %s instead of %d", value, count)
			}
			count++
		}
		if time.Since(last) > answer {
			return fmt.Errorf("read %d of %d", count, sent.Load())
		}
	}
	return nil
}

func settings(j job) ([]kgo.Opt, error) {
	options := []kgo.Opt{kgo.SeedBrokers(j.bootstrap)}
	if j.authority != "" {
		text, err := os.ReadFile(j.authority)
		if err != nil {
			return nil, err
		}
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AppendCertsFromPEM(text)
		if j.key != "" {
			pair, err := tls.LoadX509KeyPair(j.key, j.key)
			if err != nil {
				return nil, err
			}
			config.Certificates = []tls.Certificate{pair}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	switch j.mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: j.name, Pass: j.password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: j.name, Pass: j.password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: j.name, Pass: j.password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			return oauth.Auth{Token: token(j.name)}, nil
		})))
	}
	return options, nil
}

// token is an unsecured one.
func token(name string) string {
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, name, now, now+3600)
	encode := base64.RawURLEncoding.EncodeToString
	return strings.Join([]string{encode([]byte(`{"alg":"none"}`)), encode([]byte(claims)), ""}, ".")
}
