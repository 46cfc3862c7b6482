"""Values of very many elements are freed in steps, and only where nothing else refers to them."""

from __future__ import annotations

from typing import Any

from ottla.broker.scheduling.large_values import free_in_steps
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages import read_request, read_request_header
from ottla.protocol.requests import request_frame


def _offset_commit(partitions: int) -> Any:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    topics = [{"name": "orders", "partitions": [partition] * partitions}]
    fields = {"group_id": "readers", "topics": topics}
    frame = memoryview(bytes(request_frame(ApiKey.OFFSET_COMMIT, 8, 1, "client", fields)))[4:]
    return read_request(read_request_header(frame), frame)


def test_the_lists_of_a_request_are_emptied() -> None:
    request = _offset_commit(3000)
    free_in_steps(request)
    assert request.topics == []


def test_a_long_list_inside_an_element_is_emptied_before_the_element_is_freed() -> None:
    freed: list[int] = []

    class Partition:
        def __del__(self) -> None:
            freed.append(len(partitions_of(topic)))

    def partitions_of(value: dict[str, Any]) -> list[Any]:
        found: list[Any] = value.get("partitions", [])
        return found

    topic: dict[str, Any] = {"partitions": [Partition() for _ in range(1000)]}
    answer = {"topics": [topic]}
    free_in_steps(answer)
    assert len(freed) == 1000
    assert max(freed) == 900, "a hundred are freed in a step"
    assert topic == {"partitions": []}


def test_a_list_that_something_else_refers_to_stays_as_it_is() -> None:
    replicas = [1, 2, 3]
    answer = {"partitions": [{"replicas": replicas}], "count": 1}
    free_in_steps(answer)
    assert replicas == [1, 2, 3]
    assert answer == {"partitions": [], "count": 1}
