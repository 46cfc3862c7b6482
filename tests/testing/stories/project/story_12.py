"""A packer packs each parcel."""

from __future__ import annotations

from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Message

from ottla.testing import Ottla


class Packer:
    """One process of the program under test."""

    def __init__(self, servers: str, process: int) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers, "log_level": 0, "client.id": f"packer-{process}",
                "group.id": "packers", "group.instance.id": "packer",
                "auto.offset.reset": "earliest", "enable.auto.commit": False,
            }
        )  # fmt: skip
        self.consumer.subscribe(["parcels"])

    def take(self) -> Message:
        message = self.consumer.poll(20)
        assert message is not None
        assert message.error() is None
        return message

    def done(self, message: Message) -> None:
        with suppress(KafkaException):
            self.consumer.commit(message=message, asynchronous=False)


def pack(servers: str) -> list[str]:
    """Two processes share the work."""
    packed = []
    first = Packer(servers, 1)
    parcel = first.take()
    second = Packer(servers, 2)
    other = second.take()
    for packer, taken in ((first, parcel), (second, other)):
        packed.append((taken.value() or b"").decode())
        packer.done(taken)
    first.consumer.close()
    second.consumer.close()
    return packed


def test_no_parcel_is_packed_twice(ottla_broker: Ottla) -> None:
    ottla_broker.create_topic("parcels")
    ottla_broker.produce("parcels", ["book", "lamp"])
    packed = pack(ottla_broker.bootstrap_servers)
    assert len(set(packed)) == len(packed)
