"""The table in docs/reference/compatibility.md lists the APIs of the broker, as Kafka does."""

from __future__ import annotations

import re
from pathlib import Path

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey

TABLE = Path(__file__).parent.parent / "docs/reference/compatibility.md"
ROW = re.compile(r"\| (\d+) \| (\w+) \| ([\d-]+) \| ([\d-]+) \|")


def rows() -> list[tuple[int, str, str, str]]:
    """Key, name, versions of Kafka 4.1, versions of Ottla."""
    return [(int(key), *rest) for key, *rest in ROW.findall(TABLE.read_text())]


def versions(key: int) -> str:
    served = HANDLERS.get(ApiKey(key))
    if served is None:
        return "-"
    if served.lowest == served.highest:
        return str(served.lowest)
    return f"{served.lowest}-{served.highest}"


def test_the_table_lists_the_apis_that_the_broker_offers() -> None:
    table = {key: ottla for key, _, _, ottla in rows()}
    assert table == {key: versions(key) for key in table}
    assert {key.value for key in HANDLERS} <= table.keys()


def test_apis_are_offered_in_kafkas_versions() -> None:
    differing = [name for _, name, kafka, ottla in rows() if ottla not in ("-", kafka)]
    assert differing == []


def test_the_names_are_kafkas() -> None:
    assert [
        name for key, name, _, _ in rows() if name.upper() != ApiKey(key).name.replace("_", "")
    ] == []
