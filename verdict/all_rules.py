"""All rules, in the order of reports."""

from __future__ import annotations

from typing import Final

from .assignment_rules import ASSIGNMENT_RULES
from .connection_rules import CONNECTION_RULES
from .consumer_group_rules import CONSUMER_GROUP_RULES
from .epoch_rules import EPOCH_RULES
from .fetch_rules import FETCH_RULES
from .group_rules import GROUP_RULES
from .produce_rules import PRODUCE_RULES
from .routing_rules import ROUTING_RULES
from .rule import Rule
from .transaction_rules import TRANSACTION_RULES

RULES: Final[tuple[type[Rule], ...]] = (
    *CONNECTION_RULES, *ROUTING_RULES, *PRODUCE_RULES, *TRANSACTION_RULES, *FETCH_RULES,
    *EPOCH_RULES, *GROUP_RULES, *CONSUMER_GROUP_RULES, *ASSIGNMENT_RULES,
)  # fmt: skip
