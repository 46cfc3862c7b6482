"""Producer ids come from blocks, each once."""

from __future__ import annotations

from collections.abc import Iterator

from ottla.coordinator.transactions.producer_ids import ProducerIds


def blocks_of(size: int) -> Iterator[tuple[int, int]]:
    first_id = 0
    while True:
        yield first_id, size
        first_id += size


def test_ids_go_on_from_block_to_block() -> None:
    blocks = blocks_of(3)
    ids = ProducerIds(lambda: next(blocks))
    assert [ids.next() for _ in range(7)] == list(range(7))


def test_a_block_is_requested_only_when_its_first_id_is_needed() -> None:
    asked: list[int] = []

    def next_block() -> tuple[int, int]:
        asked.append(1)
        return 1000, 1000

    ids = ProducerIds(next_block)
    assert asked == []
    assert [ids.next() for _ in range(1000)] == list(range(1000, 2000))
    assert asked == [1]


def test_two_nodes_with_blocks_of_one_controller_share_no_id() -> None:
    blocks = blocks_of(2)
    one, other = (ProducerIds(lambda: next(blocks)) for _ in range(2))
    given = [producer.next() for _ in range(4) for producer in (one, other)]
    assert len(set(given)) == len(given)
