"""`kafka-delegation-tokens`: create, renew, expire and describe tokens (DelegationTokenCommand)."""

from __future__ import annotations

import argparse
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ..client.admin import delegation_tokens as admin_tokens
from ..client.admin.delegation_tokens import Principal, Token
from ..client.cluster_client import Client
from .options import Options, forbid, only_action, require
from .texts import line, out
from .tool import Tool, print_exception

_ACTIONS: Final = ("create", "renew", "expire", "describe")
_NEEDED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
_FORBIDDEN: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renewer-principal", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renewer-principal", "hmac", "renew-time-period", "expiry-time-period",
                 "max-life-time-period"),
}  # fmt: skip
_WIDTHS: Final = (15, 30, 15, 15, 25, 15, 15, 15)
_HEADS: Final = (
    *("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE"),
)


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-delegation-tokens",
        "This tool helps to create, renew, expire, or describe delegation tokens.",
        needs_words=True,
    )
    made.server()
    made.flag("--create", "create a token")
    made.flag("--renew", "renew a token")
    made.flag("--expire", "let a token expire")
    made.flag("--describe", "print tokens")
    made.values("--owner-principal", "whose token, or whose tokens: User:NAME")
    made.values("--renewer-principal", "who may renew it: User:NAME")
    made.value("--max-life-time-period", "milliseconds; -1: the broker's", number=True)
    made.value("--renew-time-period", "milliseconds; -1: the broker's", number=True)
    made.value("--expiry-time-period", "milliseconds; -1: at once", number=True)
    made.value("--hmac", "the token's HMAC, in Base64")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions or ValueError unless the options agree."""
    require(given, "bootstrap-server", "command-config")
    listed = "--create, --renew, --expire or --describe"
    action = given.action = only_action(given, _ACTIONS, listed)
    require(given, *_NEEDED[action])
    forbid(given, action, *_FORBIDDEN[action])
    given.owners = [_principal(text) for text in given.owner_principal]
    given.renewers = [_principal(text) for text in given.renewer_principal]


def _principal(text: str) -> Principal:
    kind, colon, name = text.strip().partition(":")
    if not colon:
        raise ValueError(
            f"expected a string in format principalType:principalName but got {text.strip()}"
        )
    return kind, name


def _run(client: Client, given: argparse.Namespace) -> None:
    match given.action:
        case "create":
            _create(client, given)
        case "describe":
            _describe(client, given.owners)
        case "renew":
            line(
                f"Calling renew token operation with hmac :{given.hmac} , renew-time-period"
                f" :{given.renew_time_period}"
            )
            hmac = _decoded(given.hmac)
            expiry_ms = admin_tokens.renew_token(client, hmac, given.renew_time_period)
            out(f"Completed renew operation. New expiry date : {_date(expiry_ms)}")
        case _:
            line(
                f"Calling expire token operation with hmac :{given.hmac} , expire-time-period"
                f" :{given.expiry_time_period}"
            )
            hmac = _decoded(given.hmac)
            expiry_ms = admin_tokens.expire_token(client, hmac, given.expiry_time_period)
            out(f"Completed expire operation. New expiry date : {_date(expiry_ms)}")


def _create(client: Client, given: argparse.Namespace) -> None:
    line(
        f"Calling create token operation with renewers :{_listed(given.renewers)} ,"
        f" max-life-time-period :{given.max_life_time_period}"
    )
    owner = given.owners[0] if given.owners else None
    token = admin_tokens.create_token(
        client, owner, given.renewers, max_lifetime_ms=given.max_life_time_period
    )
    line(f"Created delegation token with tokenId : {token.token_id}")
    _print_tokens([token])


def _describe(client: Client, owners: Sequence[Principal]) -> None:
    if owners:
        line(f"Calling describe token operation for owners: {_listed(owners)}")
    else:
        line("Calling describe token operation for current user.")
    tokens = admin_tokens.describe_tokens(client, owners or None)
    out(f"Total number of tokens : {len(tokens)}")
    _print_tokens(tokens)


def _print_tokens(tokens: Sequence[Token]) -> None:
    rows = [_HEADS]
    for each in tokens:
        people = (_text(each.owner), _text(each.requester), _listed(each.renewers))
        dates = (_date(each.issued_ms), _date(each.expiry_ms), _date(each.max_ms))
        rows.append((each.token_id, b64encode(each.hmac).decode(), *people, *dates))
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, _WIDTHS, strict=True))
        out("\n" + " ".join(cells) + "\n")


def _text(principal: Principal) -> str:
    return ":".join(principal)


def _listed(principals: Sequence[Principal]) -> str:
    return f"[{', '.join(map(_text, principals))}]"


def _date(time_ms: int) -> str:
    """A time in the zone of this machine."""
    return datetime.fromtimestamp(time_ms / 1000).astimezone().strftime("%Y-%m-%dT%H:%M")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except NotBase64:
        raise ValueError(f"{text} is not in Base64") from None


TOOL: Final = Tool(
    options,
    _run,
    lambda given: {"create": "createDelegationToken", "renew": "renewDelegationToken",
                   "expire": "expireDelegationToken"}.get(given.action, "describeDelegationToken"),
    check=_check,
    print_failure=print_exception,
)  # fmt: skip
