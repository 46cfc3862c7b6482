"""Which errors Apache Kafka gives to which APIs, recorded from a broker.

    python -m tests.lab.errors_of_kafka HOST:PORT

runs the cases of tests/wire on a broker, and adds each error code of its answers to
errors-of-kafka.json, as `answers`. The other part, `handled`, has the codes that the classes of
kafka-clients 4.1.1 name which read the answers (TransactionManager, ConsumerCoordinator,
AbstractCoordinator, FetchCollector, OffsetFetcherUtils, OffsetsForLeaderEpochUtils, the request
managers, and the handlers of the admin client), as `javap -c` prints them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ottla.protocol.addresses import read_addresses
from ottla.protocol.errors import Code

from ..wire import client, registry

FILE: Final = Path(__file__).parent / "errors-of-kafka.json"


def recorded() -> list[tuple[str, str]]:
    """The pairs of API and code that Kafka gives, or that its clients have a branch for."""
    parts = json.loads(FILE.read_text())
    return sorted(
        {
            (api, code)
            for part in ("answers", "handled")
            for api, codes in parts[part].items()
            for code in codes
        }
    )


def codes_of(value: object) -> Iterator[int]:
    """The error codes in an answer."""
    if isinstance(value, dict):
        for name, content in value.items():
            if name == "error_code" and isinstance(content, int):
                yield content
            else:
                yield from codes_of(content)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from codes_of(each)


def main() -> int:
    """Record; the exit status."""
    (host, port), *_ = read_addresses(sys.argv[1])
    known = json.loads(FILE.read_text())
    seen: dict[str, set[str]] = {api: set(codes) for api, codes in known["answers"].items()}
    decode = client.decode

    def noting(api: str, version: int, frame: bytes, *, header: bool = True) -> Any:  # Any: as it
        answer = decode(api, version, frame, header=header)
        names = {Code(code).name for code in codes_of(answer)} - {"NONE"}
        seen.setdefault(api, set()).update(names)
        return answer

    client.decode = noting
    for case in registry.all_cases().values():
        try:
            case.outcome((host, port))
        except Exception as failed:
            sys.stderr.write(f"{case.name}: {failed!r}\n")
    known["answers"] = {api: sorted(codes) for api, codes in sorted(seen.items()) if codes}
    FILE.write_text(json.dumps(known, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
