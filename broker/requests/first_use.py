"""Imports the modules of groups in steps, when a request first needs them.

The imports for a first ConsumerGroupHeartbeat or StreamsGroupHeartbeat and its records take 40 ms
and more. Other clients are served between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from .api import CHECKED_BY_HANDLER, Api
from .context import Context
from .handler import Body

if TYPE_CHECKING:
    from ..node import Node

GROUP_MODULES: Final = (
    "coordinator.group_records",
    "coordinator.classic.requests",
    "coordinator.group_kind",
    "coordinator.groups",
    "broker.runtime.groups.group_settings",
)
"""The modules of a group coordinator, the lower ones first."""
_CONSUMER_GROUP_MODULES: Final = (
    "coordinator.consumer.member",
    "coordinator.consumer.classic_protocol",
    "coordinator.consumer.records",
    "coordinator.consumer.group",
    "coordinator.consumer.requests",
    "coordinator.consumer.target",
    "coordinator.consumer.steps",
    "coordinator.consumer.groups",
    "coordinator.consumer.classic_members",
    "coordinator.consumer.kind",
)
_STREAMS_GROUP_MODULES: Final = (
    "coordinator.consumer.topics",
    "coordinator.streams.member",
    "coordinator.streams.topology",
    "coordinator.streams.configured",
    "coordinator.streams.records",
    "coordinator.streams.requests",
    "coordinator.streams.group",
    "coordinator.streams.assignor",
    "coordinator.streams.steps",
    "coordinator.streams.groups",
    "coordinator.streams.kind",
)
_ROOMS: Final = __name__.rpartition(".broker.")[0]


def import_steps(modules: Iterable[str]) -> Iterator[str]:
    """Import modules, named from their room on; yields each name."""
    for module in modules:
        import_module(f"{_ROOMS}.{module}")
        yield module


def consumer_group_steps() -> Iterator[str]:
    """Import and compile what the first ConsumerGroupHeartbeat needs; yields a name for each."""
    yield from import_steps((*GROUP_MODULES, *_CONSUMER_GROUP_MODULES))
    from ...coordinator.consumer.records import prepare

    yield from prepare()


def streams_group_steps() -> Iterator[str]:
    """Import and compile what the first StreamsGroupHeartbeat needs; yields a name for each."""
    yield from import_steps((*GROUP_MODULES, *_STREAMS_GROUP_MODULES))
    from ...coordinator.streams.records import prepare

    yield from prepare()


STEPS: Final = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_steps,
    ApiKey.STREAMS_GROUP_HEARTBEAT: streams_group_steps,
}
"""What imports the modules of an API in steps."""


def first_heartbeat(api_of: Callable[[int], Api]) -> Api:
    """An API of `STEPS` as long as its modules are not imported."""

    async def first(node: Node, context: Context, request: object) -> Body | None:
        async for _ in context.turns.each(STEPS[context.api_key]()):
            pass
        declared = api_of(context.api_key)
        if node.authorizer is None:
            return await declared.handler(node, context, request)
        from .guards.guard import guarded

        return await guarded(declared)(node, context, request)

    return Api(first, guard=CHECKED_BY_HANDLER)
