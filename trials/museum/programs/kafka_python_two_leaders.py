"""Reads a topic whose partitions have two leaders from its beginning."""

import logging
import os

from kafka import KafkaConsumer, TopicPartition


class Faults(logging.Handler):
    """Remembers exceptions that the client logs."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0]:
            self.found.append(record.exc_info[0].__name__)


faults = Faults()
logging.getLogger("kafka").addHandler(faults)
consumer = KafkaConsumer(
    bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"], auto_offset_reset="earliest"
)
consumer.assign([TopicPartition("museum", 0), TopicPartition("museum", 1)])
read: set[int] = set()
while len(read) < 2 and not faults.found:
    for place, records in consumer.poll(timeout_ms=200).items():
        read.add(place.partition)
        print("seen: read", place.partition, len(records))
for each in faults.found:
    print("seen: fault", each)
