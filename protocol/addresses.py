"""HOST:PORT, as addresses of brokers are written."""

from __future__ import annotations

from .java_integers import number_in

Address = tuple[str, int]
"""Host and port."""


def read_address(text: str, *, lowest_port: int = 1) -> Address:
    """Host and port of `HOST:PORT`. A missing host is 127.0.0.1; brackets around it are removed.

    Args:
        lowest_port: 0 if the port may be any free one.

    Raises:
        ValueError: the text has another form, or the port is out of range; the message names it.
    """
    host, _, port = text.strip().rpartition(":")
    number = number_in(port) if port.isdecimal() else None  # without a sign
    if number is None or not lowest_port <= number < 1 << 16:
        raise ValueError(f"{text}: HOST:PORT was expected")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", number


def read_addresses(text: str) -> list[Address]:
    """Host and port of each address in `HOST:PORT,HOST:PORT`. Raises ValueError."""
    return [read_address(each) for each in text.split(",")]
