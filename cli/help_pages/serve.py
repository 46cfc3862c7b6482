"""The help page and the completion of `ottla serve`; `ottla.serving.serve` runs it."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from ...console.options import SERVE_OPTIONS, Option
from ..shared_options import guarded


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("serve", epilog="Example: ottla serve --listen 127.0.0.1:9092 --data-dir data")(
        guarded(with_options(_serve, SERVE_OPTIONS))
    )


def _serve(**_: Any) -> int:
    """Run a broker until SIGTERM or Ctrl-C.

    Without --data-dir, the data are in a temporary directory, which the broker deletes when it
    stops. `ottla config` explains all settings.
    """
    raise AssertionError("__main__ runs it")


def with_options(function: Any, options: tuple[Option, ...]) -> Any:
    """The function with a signature that typer reads as these options."""
    parameters = [
        inspect.Parameter(
            each.destination,
            inspect.Parameter.KEYWORD_ONLY,
            default=_typer_option(each),
            annotation=_annotation(each),
        )
        for each in options
    ]
    function.__signature__ = inspect.Signature(parameters, return_annotation=int)
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    return function


def _typer_option(option: Option) -> Any:
    text = f"{option.text[:1].upper()}{option.text[1:]}."
    more: dict[str, Any] = {"help": text, "hidden": not option.text}
    if not option.metavar:
        return typer.Option(False, *option.flags, **more)
    if option.most:
        more |= {"min": 1, "max": option.most}
    default: Any = [] if option.is_repeatable else option.default
    if option.is_required:
        default = ...
    return typer.Option(default, *option.flags, metavar=option.metavar, show_default=False, **more)


def _annotation(option: Option) -> Any:
    if not option.metavar:
        return bool
    if option.is_repeatable:
        return list[str]
    if option.default is not None or option.is_required:
        return option.kind
    return option.kind | None
