// A share consumer that reads 200 records in one mode: BOOTSTRAP implicit|explicit|record_limit|renew.
//
// It does what ShareRecords.java does, and prints the same line. Of ten records, an explicit one releases
// the first until its third delivery, rejects the second, and in the mode renew renews the lock of the
// third once before it accepts it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	count = 200
	limit = 7
)

func main() {
	bootstrap, mode := os.Args[1], os.Args[2]
	topic, group := "go-orders-"+mode, "go-shop-"+mode
	running, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	admin := client(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer admin.Close()
	createTopic(running, admin, topic)
	readFromTheEarliest(running, admin, group)
	for number := 0; number < count; number++ {
		record := &kgo.Record{Topic: topic, Partition: int32(number % 2), Value: []byte(strconv.Itoa(number))}
		must(admin.ProduceSync(running, record).FirstErr())
	}
	done, largest := consume(running, bootstrap, mode, topic, group)
	most := "more"
	if largest <= limit {
		most = strconv.Itoa(limit)
	}
	fmt.Printf("%s lag %d at most %s\n", done, lag(running, admin, group), most)
}

// consume returns what the consumer has done, and the records of its largest poll.
func consume(running context.Context, bootstrap, mode, topic, group string) (string, int) {
	failed := make(chan error, 1)
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic), kgo.ShareGroup(group),
		kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			if err := results.Error(); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		}),
	}
	if mode == "record_limit" {
		options = append(options, kgo.ShareMaxRecords(limit), kgo.ShareMaxRecordsStrict())
	}
	consumer := client(options...)
	read, renewed, deliveries, largest := map[string]bool{}, map[string]bool{}, map[int32]int{}, 0
	for len(read) < count {
		polled := consumer.PollFetches(running)
		must(polled.Err())
		largest = max(largest, polled.NumRecords())
		for _, record := range polled.Records() {
			deliveries[record.DeliveryCount()]++
			if acknowledge(running, consumer, record, mode, renewed) != kgo.AckRelease {
				read[string(record.Value)] = true
			}
		}
		must(consumer.FlushAcks(running))
	}
	accepted, stop := context.WithTimeout(running, time.Millisecond)
	consumer.PollFetches(accepted) // accepts what an implicit one has polled last; the end would release it
	stop()
	must(consumer.FlushAcks(running))
	consumer.Close()
	select {
	case err := <-failed:
		must(err)
	default:
	}
	done := fmt.Sprintf("done %d deliveries {%s} renewed %d", len(read), told(deliveries), len(renewed))
	return done, largest
}

func acknowledge(
	running context.Context, consumer *kgo.Client, record *kgo.Record, mode string, renewed map[string]bool,
) kgo.AckStatus {
	if mode == "implicit" {
		return kgo.AckAccept // by the next poll
	}
	number, err := strconv.Atoi(string(record.Value))
	must(err)
	status := kgo.AckAccept
	switch {
	case number%10 == 0 && record.DeliveryCount() < 3:
		status = kgo.AckRelease
	case number%10 == 1:
		status = kgo.AckReject
	case number%10 == 2 && mode == "renew":
		record.Ack(kgo.AckRenew)
		must(consumer.FlushAcks(running))
		renewed[string(record.Value)] = true
	}
	record.Ack(status)
	return status
}

func told(deliveries map[int32]int) string {
	var lines []string
	for count, records := range deliveries {
		lines = append(lines, fmt.Sprintf("%d=%d", count, records))
	}
	sort.Strings(lines)
	return strings.Join(lines, ", ")
}

func createTopic(running context.Context, admin *kgo.Client, name string) {
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(running, admin)
	must(err)
	must(kerr.ErrorForCode(answer.Topics[0].ErrorCode))
}

func readFromTheEarliest(running context.Context, admin *kgo.Client, group string) {
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	setting := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	setting.Name, setting.Value = "share.auto.offset.reset", kmsg.StringPtr("earliest")
	resource.Configs = append(resource.Configs, setting)
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(running, admin)
	must(err)
	must(kerr.ErrorForCode(answer.Resources[0].ErrorCode))
}

// lag is the sum over the partitions of the group.
func lag(running context.Context, admin *kgo.Client, group string) int64 {
	request := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	asked := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
	asked.GroupID = group
	request.Groups = append(request.Groups, asked)
	answer, err := request.RequestWith(running, admin)
	must(err)
	must(kerr.ErrorForCode(answer.Groups[0].ErrorCode))
	sum := int64(0)
	for _, each := range answer.Groups[0].Topics {
		for _, partition := range each.Partitions {
			must(kerr.ErrorForCode(partition.ErrorCode))
			sum += partition.Lag
		}
	}
	return sum
}

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(options...)
	must(err)
	return made
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
