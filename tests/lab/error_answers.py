"""Answers with errors as Kafka's requests make them, recorded from Kafka's Java classes.

`python -m tests.lab.error_answers` records them again (needs Java, and Maven for the jars).
"""

from __future__ import annotations

import json
import subprocess
import uuid
from itertools import count
from pathlib import Path
from typing import Any, Final

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from tests.kafka.installation import java
from tests.wire.client import APIS, encode_body

RECORDED: Final = Path(__file__).with_name("error_answers.json")
CODE: Final = 31
"""CLUSTER_AUTHORIZATION_FAILED."""
_PROGRAM: Final = Path(__file__).parent / "java/ErrorAnswers.java"


def served() -> list[tuple[ApiKey, int]]:
    """Each API that clients send, with each version that is served."""
    return [
        (key, version)
        for key, serves in sorted(HANDLERS.items())
        for version in range(max(serves.lowest, serves.closed_below), serves.highest + 1)
    ]


def sample(api_key: ApiKey, version: int) -> dict[str, Any]:
    """A request body with all fields of the version; lists have two elements."""
    return _struct(APIS[api_name(api_key)][0]._struct, version, count(1))


def _struct(struct: Any, version: int, numbers: Any) -> dict[str, Any]:
    return {
        each.name: _value(each, version, numbers)
        for each in struct._fields
        if each.for_version_q(version) and not each.tagged_field_q(version)
    }


def _value(each: Any, version: int, numbers: Any) -> Any:
    if each.is_struct_array():
        return [_struct(each.array_of, version, numbers) for _ in range(2)]
    if each.is_struct():
        return _struct(each, version, numbers)
    if each.type_str.startswith("[]"):
        return [_leaf(each.type_str[2:], next(numbers)) for _ in range(2)]
    return _leaf(each.type_str, next(numbers))


def _leaf(kind: str, number: int) -> Any:
    match kind:
        case "bool":
            return True
        case "string":
            return f"name{number}"
        case "uuid":
            return uuid.UUID(int=number)
        case "bytes" | "records":
            return b""
        case "float64":
            return 1.0
    return number % 100


def body_of(api_key: ApiKey, version: int) -> bytes:
    """The bytes of the sample, without a header."""
    return encode_body(api_name(api_key), version, sample(api_key, version))


def record() -> None:
    """Ask the classes, and write their answers."""
    lines = [f"{key.name} {version} {body_of(key, version).hex()}" for key, version in served()]
    done = subprocess.run(
        java("-Xmx256m", str(_PROGRAM)),
        input="\n".join(lines), stdout=subprocess.PIPE, text=True, check=True, timeout=120,
    )  # fmt: skip
    answers = {
        f"{api} {version}": answer
        for api, version, answer in map(str.split, done.stdout.splitlines())
    }
    RECORDED.write_text(json.dumps(answers, indent=0) + "\n")


if __name__ == "__main__":
    record()
