"""Refuses rules that can never fire: unknown APIs, errors without a place, fields without sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...broker.requests.served_apis import HANDLERS
from ...metadata.catalog import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    TRANSACTION_STATE,
)
from ...protocol.api_keys import ApiKey
from ...trace.wildcards import fits
from ..answers.corruption import check_kind
from ..answers.error_answers import why_no_place
from ..rules import rule as rules
from ..rules.rule import CannotFire, Match, RuleSpec, code_of
from ..tracing.sights import api_name
from ..tracing.subjects import kinds_of

if TYPE_CHECKING:
    from ...broker.cluster import Cluster

_OF_LOGIN: Final = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
_PLACE: Final = frozenset({"topic", "partition"})
_OF_TRANSACTION: Final = _PLACE | {"node_id", "transactional_id", "producer_id"}
_OF_APPEND: Final = _PLACE | {"node_id", "producer_id"}
_OF_FILE: Final = _PLACE | {"node_id"}
SHOWN_BY: Final = {
    "prepare_append": _OF_TRANSACTION, "prepare_answer": _OF_TRANSACTION,
    "complete_append": _OF_TRANSACTION, "marker": _OF_APPEND, "produce_append": _OF_APPEND,
    "offsets_materialized": _OF_APPEND, "group_append": _OF_APPEND | {"group"},
    "segment_roll": _OF_FILE, "snapshot": _OF_FILE, "swap": _OF_FILE,
}  # fmt: skip
"""What the steps show to a match."""
_ONLY_TOPIC: Final = {
    "group_append": CONSUMER_OFFSETS, "offsets_materialized": CONSUMER_OFFSETS,
    "complete_append": TRANSACTION_STATE,
}  # fmt: skip
_NO_PRODUCE: Final = frozenset({*INTERNAL_TOPICS, CLUSTER_METADATA})
_KINDS: Final = {
    "topic": "topics", "partition": "partitions", "transactional_id": "transactional_ids",
    "producer_id": "producer_ids", "group": "groups", "member": "members",
}  # fmt: skip
_OF_ANY: Final = {"nth", "every", "after_ms", "probability", "seed", "times"}


def check_rule(spec: RuleSpec, cluster: Cluster) -> None:
    """Check a rule.

    Raises:
        CannotFire: it can never fire on this cluster. WrongRule: it can fire on none.
    """
    match, action = spec.match, spec.action
    _check_numbers(match, cluster)
    if isinstance(action, rules.Crash | rules.Disk):
        _check_step(match, action)
        return
    keys = _keys_of(match)
    if isinstance(action, rules.Error):
        _check_error(match, action, keys)
    elif isinstance(action, rules.Corrupt):
        check_kind(action, keys)
    elif isinstance(action, rules.ForgetSession):
        _check_api(keys, {ApiKey.FETCH}, "forget_session", "Fetch")
    elif isinstance(action, rules.MoveLeader | rules.MoveCoordinator):
        _check_move(action, cluster)
    elif isinstance(action, rules.Delay) and (action.up_to_ms or action.ms) < action.ms:
        raise CannotFire(f"up_to_ms must be at least ms, {action.ms}")
    _check_names(match, keys)


def _check_numbers(match: Match, cluster: Cluster) -> None:
    if match.versions is not None and match.versions[0] > match.versions[1]:
        raise CannotFire("match.versions: the lowest version comes first")
    if match.node_id is not None and match.node_id not in cluster.nodes:
        known = ", ".join(map(str, cluster.nodes))
        raise CannotFire(f"match.node_id: node {match.node_id} does not exist; nodes: {known}")
    if match.probability == 0:
        raise CannotFire("match.probability: a rule with probability 0 can never fire")
    if match.nth is not None and match.every is not None and match.nth % match.every:
        raise CannotFire(f"match: the {match.nth}. is none of every {match.every}.")


def _given(match: Match) -> set[str]:
    return {name for name in match.__struct_fields__ if getattr(match, name) is not None}


def _check_step(match: Match, action: rules.Crash | rules.Disk) -> None:
    if isinstance(action, rules.Disk):
        if match.topic is None:
            raise CannotFire("match.topic: disk needs a topic; * means all logs")
        kind, allowed = "disk", _PLACE | _OF_ANY
    else:
        kind, point = f"crash at {action.point}", action.point.removeprefix("before_")
        allowed = SHOWN_BY[point] | _OF_ANY
        _check_topic(match, point)
    wrong = sorted(_given(match) - allowed)
    if wrong:
        allowed_names = ", ".join(sorted(allowed))
        raise CannotFire(
            f"match.{wrong[0]}: {kind} acts on steps of the broker, which {allowed_names} can match"
        )


def _check_topic(match: Match, point: str) -> None:
    """Refuse a topic that a step never has."""
    only = _ONLY_TOPIC.get(point)
    if match.topic is None:
        return
    if only is not None and not fits(match.topic)(only):
        raise CannotFire(f"match.topic: {point} is a step in {only}")
    if point == "produce_append" and match.topic in _NO_PRODUCE:
        raise CannotFire(f"match.topic: no producer writes to {match.topic}")


def apis_of(match: Match) -> set[ApiKey]:
    """The APIs that a match can hold for. Raises CannotFire."""
    return set(_keys_of(match))


def _keys_of(match: Match) -> dict[ApiKey, tuple[int, int]]:
    """The APIs that a match can hold for, with the versions. Raises CannotFire."""
    found = {}
    pattern = match.api or "*"
    is_api = fits(pattern)
    for key, served in HANDLERS.items():
        low, high = served.lowest, max(served.highest, served.highest_unstable)
        if match.versions is not None:
            low, high = max(low, match.versions[0]), min(high, match.versions[1])
        if is_api(api_name(key)):
            found[key] = (low, high)
    if not found:
        names = ", ".join(sorted(map(api_name, HANDLERS)))
        raise CannotFire(f"match.api: no API fits {pattern}; the APIs are {names}")
    if all(key in _OF_LOGIN for key in found):
        raise CannotFire(
            f"match.api: rules act on requests after the login, and {pattern} is of it"
        )
    served_versions = {key: span for key, span in found.items() if span[0] <= span[1]}
    if not served_versions:
        low, high = match.versions or (0, 0)
        raise CannotFire(f"match.versions: {pattern} has no served version from {low} to {high}")
    return served_versions


def _check_names(match: Match, keys: dict[ApiKey, tuple[int, int]]) -> None:
    """Refuse names that no request of these APIs has."""
    wanted = {kind for field, kind in _KINDS.items() if getattr(match, field) is not None}
    if any(wanted <= kinds_of(key) for key in keys):
        return
    field = next(
        (
            name
            for name, kind in _KINDS.items()
            if kind in wanted and not any(kind in kinds_of(key) for key in keys)
        ),
        next(name for name, kind in _KINDS.items() if kind in wanted),
    )
    pattern = match.api or "any API"
    raise CannotFire(f"match.{field}: requests of {pattern} have no such name")


def _check_error(match: Match, action: rules.Error, keys: dict[ApiKey, tuple[int, int]]) -> None:
    code = code_of(action.code)
    has_parts = match.topic is not None or match.partition is not None
    reasons = [why_no_place(key, span, code, has_parts) for key, span in keys.items()]
    if all(reason is not None for reason in reasons):
        raise CannotFire(f"action: {reasons[0]}")


def _check_api(
    keys: dict[ApiKey, tuple[int, int]], needed: set[ApiKey], action: str, names: str
) -> None:
    if not needed & keys.keys():
        raise CannotFire(f"match.api: {action} acts on {names} alone")


def _check_move(action: rules.MoveLeader | rules.MoveCoordinator, cluster: Cluster) -> None:
    if len(cluster.nodes) < 2:
        raise CannotFire(f"action: {rules.kind_of(action)} needs a broker with several nodes")
    if action.node_id is not None and action.node_id not in cluster.nodes:
        known = ", ".join(map(str, cluster.nodes))
        raise CannotFire(f"action.node_id: node {action.node_id} does not exist; nodes: {known}")
