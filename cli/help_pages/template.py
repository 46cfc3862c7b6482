"""The help page and the completion of `ottla template`; `serving/template_command.py` runs it."""

from __future__ import annotations

from typing import Any

import typer

from ...console.options import TEMPLATE_OPTIONS
from ..shared_options import guarded
from .serve import with_options


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("template", epilog="Example: ottla template --socket run/template.sock")(
        guarded(with_options(_template, TEMPLATE_OPTIONS))
    )


def _template(**_: Any) -> int:
    """Keep a warm process that starts brokers in milliseconds, over a Unix socket.

    The module ottla.serving.template is its client. It needs Linux or macOS.
    """
    raise AssertionError("__main__ runs it")
