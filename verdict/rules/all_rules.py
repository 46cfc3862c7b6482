"""All rules, in the order of reports."""

from __future__ import annotations

from typing import Final

from .assignment import ASSIGNMENT_RULES
from .connection import CONNECTION_RULES
from .consumer_group import CONSUMER_GROUP_RULES
from .epoch import EPOCH_RULES
from .fetch import FETCH_RULES
from .group import GROUP_RULES
from .produce import PRODUCE_RULES
from .routing import ROUTING_RULES
from .rule import Rule
from .share_group import SHARE_GROUP_RULES
from .transaction import TRANSACTION_RULES

RULES: Final[tuple[type[Rule], ...]] = (
    *CONNECTION_RULES, *ROUTING_RULES, *PRODUCE_RULES, *TRANSACTION_RULES, *FETCH_RULES,
    *EPOCH_RULES, *GROUP_RULES, *CONSUMER_GROUP_RULES, *ASSIGNMENT_RULES,
    *SHARE_GROUP_RULES,
)  # fmt: skip
