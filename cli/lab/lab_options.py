"""The option --control of the lab's commands, and the client that it names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from ...client.cluster_client import NoAnswer
from ...console.options import CannotRun, IsRefused
from ...protocol.addresses import read_address
from ...testing.lab import LabClient, LabRefused

Control = Annotated[
    str,
    typer.Option(
        "--control",
        envvar="OTTLA_CONTROL",
        metavar="HOST:PORT",
        help="As given to ottla serve --control.",
    ),
]

_WRONG_INPUT: Final = 400  # of HTTP


@contextmanager
def lab_of(control: str) -> Iterator[LabClient]:
    """A client of a control. Raises CannotRun, IsRefused, NoAnswer."""
    try:
        read_address(control)
    except ValueError:
        raise CannotRun("--control HOST:PORT (or OTTLA_CONTROL) was expected") from None
    try:
        yield LabClient(lambda: control)
    except LabRefused as refused:
        if refused.status == _WRONG_INPUT:
            raise CannotRun(str(refused)) from None
        raise IsRefused(str(refused)) from None
    except OSError as failed:
        raise NoAnswer(f"no control answers at {control}: {failed}") from None
