"""The type of the control's operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...broker.node_orders import WrongOrder
from ...browse.local_http import Failure
from ...protocol.errors import Refused
from ..lab import Lab, NotNow, NotThere
from ..rules.rule import CannotFire, WrongRule

if TYPE_CHECKING:
    from ...browse.questions import Question

Values: TypeAlias = Mapping[str, int]
Query: TypeAlias = Mapping[str, str]
Run: TypeAlias = Callable[[Lab, Values, Query, Any], Awaitable[object]]


class ControlOperation(NamedTuple):
    """An operation.

    Attributes:
        method, path: a path may have numbers in braces.
        name: the operationId of its description.
        summary: one sentence.
        act: carries it out.
        status: of a success.
        body: the name of the schema of the body; empty if there is none.
        needs_body: whether the body must be there.
        query: names of query parameters and the types of their values.
        answer: the name of the schema of the answer.
        question: of the page, which a thread asks instead of `act`; None for others.
    """

    method: str
    path: str
    name: str
    summary: str
    act: Run
    status: int = 200
    body: str = ""
    needs_body: bool = False
    query: Mapping[str, type] = {}
    answer: str = "Any"
    question: Question | None = None

    @property
    def takes_body(self) -> bool:
        return bool(self.body)

    async def run(self, lab: Lab, values: Values, query: Query, body: Any) -> object:
        """Carry it out. Raises Failure."""
        unknown = query.keys() - self.query.keys()
        if unknown:
            raise Failure(400, f"unknown parameter {min(unknown)}")
        try:
            return await self.act(lab, values, query, body)
        except WrongRule as wrong:
            raise Failure(400, str(wrong)) from None
        except NotThere as missing:
            raise Failure(404, str(missing)) from None
        except (CannotFire, NotNow, WrongOrder, Refused, OSError) as not_now:
            raise Failure(409, str(not_now)) from None
