"""An idempotent producer sends a batch, and then two at once."""

import os
from typing import Any

from confluent_kafka import KafkaException, Producer


def delivered(error: Any, message: Any) -> None:
    """Print how the delivery of a message ended."""
    value = message.value().decode()
    print("seen: sent" if error is None else "seen: failed", value, error.name() if error else "")


producer = Producer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "enable.idempotence": True,
        "batch.num.messages": 1,
        "linger.ms": 0,
    }
)
producer.produce("museum", "a", partition=0)
producer.flush(30)
for value in ("b", "c"):
    producer.produce("museum", value, partition=0, on_delivery=delivered)
try:
    producer.flush(30)
except KafkaException as fatal:
    print("seen: fatal", fatal.args[0].name())
