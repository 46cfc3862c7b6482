// Package job has what the clients of Go share: the fields of a job (job.py) and the check of values.
package job

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	Values = 20 // of a run without re-authentication
	Answer = 20 * time.Second
)

// Job is one run of a client, as in job.py.
type Job struct {
	Bootstrap, Protocol, Mechanism, Name, Password, Authority, Key, Topic string
	Seconds                                                               float64
	token                                                                 string
}

// given are the settings that ottla.testing has for a client: of franz-go, or sarama's under Net.
type given struct {
	SeedBrokers, Addrs []string
	TLS                struct{ CAFile, CertFile, KeyFile string }
	SASL               struct{ Mechanism, User, Pass, Password, Token string }
	Net                *given
}

// use replaces the fields of a job by given settings.
func (j *Job) use(text string) error {
	var found given
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return err
	}
	j.Bootstrap = strings.Join(append(found.SeedBrokers, found.Addrs...), ",")
	if found.Net != nil {
		found.TLS, found.SASL = found.Net.TLS, found.Net.SASL
	}
	j.Authority, j.Key = found.TLS.CAFile, found.TLS.KeyFile
	j.Mechanism, j.Name, j.token = found.SASL.Mechanism, found.SASL.User, found.SASL.Token
	j.Password = found.SASL.Pass + found.SASL.Password
	return nil
}

// Main runs the job of the command line. The output is one line, and an error the last of stderr.
func Main(run func(Job) (int64, error)) {
	a := os.Args[1:]
	seconds, err := strconv.ParseFloat(a[8], 64)
	var count int64
	job := Job{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], seconds, ""}
	if err == nil && a[9] != "" {
		err = job.use(a[9])
	}
	if err == nil {
		count, err = run(job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d sent, %d read, with transactions\n", count, count)
}

// Ends is when the writing ends, if enough values are written.
func (j Job) Ends() time.Time {
	return time.Now().Add(time.Duration(j.Seconds * float64(time.Second)))
}

// TLS is nil without an authority.
func (j Job) TLS() (*tls.Config, error) {
	if j.Authority == "" {
		return nil, nil
	}
	text, err := os.ReadFile(j.Authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(text)
	if j.Key != "" {
		pair, err := tls.LoadX509KeyPair(j.Key, j.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Token is an unsecured one.
func (j Job) Token() string {
	if j.token != "" {
		return j.token
	}
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, j.Name, now, now+3600)
	encode := base64.RawURLEncoding.EncodeToString
	return strings.Join([]string{encode([]byte(`{"alg":"none"}`)), encode([]byte(claims)), ""}, ".")
}

// Numbers are the values that a client reads: each once, in order, and one record of a transaction.
type Numbers struct {
	count     atomic.Int64
	sent      atomic.Int64
	committed atomic.Bool
}

// NewNumbers does not know yet how many were sent.
func NewNumbers() *Numbers {
	n := &Numbers{}
	n.sent.Store(-1)
	return n
}

// Take takes the next value. It fails if one is lost, doubled or of an aborted transaction.
func (n *Numbers) Take(value string) error {
	if value == "committed" {
		if n.committed.Swap(true) {
			return fmt.Errorf("the record of the transaction is doubled")
		}
		return nil
	}
	if value != strconv.FormatInt(n.count.Load(), 10) {
		return fmt.Errorf("read %s instead of %d", value, n.count.Load())
	}
	n.count.Add(1)
	return nil
}

// Sent tells how many were sent.
func (n *Numbers) Sent(count int64) { n.sent.Store(count) }

// Complete is whether all was read.
func (n *Numbers) Complete() bool { return n.committed.Load() && n.count.Load() == n.sent.Load() }

// Missing is the error of a read that does not come to its end.
func (n *Numbers) Missing() error {
	return fmt.Errorf("read %d of %d", n.count.Load(), n.sent.Load())
}
