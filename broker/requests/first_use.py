"""Imports the modules of groups in steps, when a request first needs them.

The imports for a first ConsumerGroupHeartbeat and its records take 40 ms and more. Other clients
are served between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

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
    "broker.runtime.group_settings",
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


def first_heartbeat(api_of: Callable[[int], Api]) -> Api:
    """The API ConsumerGroupHeartbeat as long as its modules are not imported."""

    async def first(node: Node, context: Context, request: object) -> Body | None:
        async for _ in context.turns.each(consumer_group_steps()):
            pass
        declared = api_of(context.api_key)
        if node.authorizer is None:
            return await declared.handler(node, context, request)
        from .guards import guarded

        return await guarded(declared)(node, context, request)

    return Api(first, guard=CHECKED_BY_HANDLER)
