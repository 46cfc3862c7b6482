"""Unsecured tokens for Python clients that log in by OAUTHBEARER and ask an object for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, Final

from ..security.unsecured_login import unsecured_token

# Of kafka-python 3, 2.1 to 2.3, and 2.0.
_OF_KAFKA_PYTHON: Final = ("kafka.net.sasl.oauth", "kafka.sasl.oauth", "kafka.oauth.abstract")


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
    """The `sasl_oauth_token_provider` of kafka-python."""

    class Provider(_base_of_kafka_python()):  # type: ignore[misc]  # it has no types
        def token(self) -> str:
            return token_now(user)

    return Provider()


def _base_of_kafka_python() -> Any:
    """The library's abstract class, which each of its releases has in another module."""
    for name in _OF_KAFKA_PYTHON:
        with suppress(ModuleNotFoundError):
            return import_module(name).AbstractTokenProvider
    raise ModuleNotFoundError("kafka-python is not installed, or has no tokens", name="kafka")
