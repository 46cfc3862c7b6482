"""Unsecured tokens for Python clients that log in by OAUTHBEARER and ask an object for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..security.unsecured_login import unsecured_token


def token_now(user: str) -> str:
    """A token that is valid for an hour."""
    return unsecured_token(user, time.time())[0]


def oauth_cb(user: str) -> Callable[[str], tuple[str, float]]:
    """The `oauth_cb` of confluent-kafka."""
    return partial(_token_and_end, user)


def _token_and_end(user: str, _config: str) -> tuple[str, float]:
    return unsecured_token(user, time.time())


def of_aiokafka(user: str) -> Any:
    """The `sasl_oauth_token_provider` of aiokafka."""
    from aiokafka.abc import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
        async def token(self) -> str:
            return token_now(user)

    return Provider()


def of_kafka_python(user: str) -> Any:
    """The `sasl_oauth_token_provider` of kafka-python 3."""
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
        def token(self) -> str:
            return token_now(user)

    return Provider()
