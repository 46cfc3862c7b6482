"""`ottla museum`: published bugs of clients, replayed with an affected and a fixed version."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

import typer

from ..console.options import CannotRun
from ..console.tables import Table, plural, print_answer, print_json, print_line, print_table
from ..trials.museum.collection import EXHIBITS
from ..trials.museum.exhibit import Exhibit, Shows
from ..trials.museum.exhibit_replay import Replay, replay
from .shared_options import AsJson, Subcommands, about

_EXAMPLE: Final = "ottla museum run kafka-python-end-offsets"


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    museum = Subcommands(
        app, "museum", help="Replay published bugs of Kafka clients.", example=_EXAMPLE
    )
    museum.add("list", _list, example="ottla museum list")
    museum.add("run", _run, example=_EXAMPLE)
    museum.add("clear", _clear, example="ottla museum clear")


def _list(as_json: AsJson = False) -> None:
    """List the replays, with the versions that have the bug and those that have not."""
    if as_json:
        print_json([_about(each) for each in EXHIBITS])
        return
    rows = [
        [each.name, each.client, each.affected, each.fixed, each.title, each.issue]
        for each in EXHIBITS
    ]
    columns = ("name", "client", "affected", "fixed", "bug", "issue")
    print_table(Table("replays", columns, rows))


def _run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="A pattern with *, too.")],
    client_version: Annotated[
        str,
        typer.Option("--client-version", metavar="V", help="Only this version of the client."),
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, metavar="S", help="For the program, each time.")
    ] = 60.0,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="DIR", help="Keep the traces.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="DIR", help="Write the page of each trace.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Replay bugs with an affected and a fixed version of the client.

    Clients are installed into the cache at first. Exit status 0 if each bug shows with the affected
    version and not with the fixed one, 1 if not, 2 if a replay cannot run. With --client-version
    0 if the bug shows.
    """
    chosen = _chosen(names)
    is_expected = True
    for exhibit in chosen:
        replays = _replays(exhibit, client_version, timeout, traces, html)
        found = [each.verdict.shows for each in replays]
        wanted = [Shows.BUG] if client_version else [Shows.BUG, Shows.NO_BUG]
        is_expected = is_expected and found == wanted
        (_as_json if as_json else _as_text)(exhibit, replays)
    return 0 if is_expected else 1


def _clear(as_json: AsJson = False) -> None:
    """Remove the installed clients from the cache; the next replay installs them again."""
    from ..trials.museum.install import cache_directory, clear_cache

    try:
        removed = clear_cache()
    except OSError as wrong:
        raise CannotRun(f"museum clear: {about(cache_directory(), wrong)}") from None
    text = f"{plural(len(removed), 'client', 'clients')} removed from {cache_directory()}"
    about_it = {"directory": str(cache_directory()), "removed": removed}
    print_answer(about_it, text, as_json=as_json)


def _chosen(names: Sequence[str]) -> list[Exhibit]:
    """The exhibits of names and patterns, in their order. Raises CannotRun."""
    for name in names:
        if not any(fnmatchcase(each.name, name) for each in EXHIBITS):
            raise CannotRun(f"museum run {name}: there is none; `ottla museum list` shows all")
    return [each for each in EXHIBITS if any(fnmatchcase(each.name, name) for name in names)]


def _replays(
    exhibit: Exhibit, version: str, timeout_s: float, traces: Path | None, pages: Path | None
) -> list[Replay]:
    from ..client.cluster_client import ErrorAnswer, NoAnswer
    from ..testing.broker import BrokerFailed
    from ..trials.museum.install import NotInstalled
    from ..trials.process_groups import ending_with_command
    from ..trials.program import NoProgram

    versions = [version] if version else [exhibit.affected, exhibit.fixed]
    try:
        with ending_with_command():
            return [
                replay(exhibit, each, timeout_s=timeout_s, traces=traces, pages=pages)
                for each in versions
            ]
    except (NotInstalled, NoProgram, BrokerFailed, NoAnswer, ErrorAnswer, OSError) as failed:
        raise CannotRun(f"museum run {exhibit.name}: {failed}") from None


def _as_text(exhibit: Exhibit, replays: Sequence[Replay]) -> None:
    print_line(f"{exhibit.name}: {exhibit.title} ({exhibit.issue})")
    for each in replays:
        shown = each.verdict
        print_line(f"  {exhibit.client} {each.version}: {shown.shows.value}: {shown.text}")
        for text in each.lines:
            print_line(f"    {text.strip()}")
        if each.page is not None:
            print_line(f"    open {each.page}")


def _as_json(exhibit: Exhibit, replays: Sequence[Replay]) -> None:
    print_json(
        {
            **_about(exhibit),
            "replays": [
                {
                    "version": each.version,
                    "shows": each.verdict.shows.name.lower(),
                    "text": each.verdict.text,
                    "events": list(each.verdict.events),
                    "lines": [text.strip() for text in each.lines],
                    "took_s": round(each.took_s, 1),
                    **({} if each.page is None else {"page": str(each.page)}),
                }
                for each in replays
            ],
        }
    )


def _about(exhibit: Exhibit) -> dict[str, str]:
    return {
        name: getattr(exhibit, name)
        for name in ("name", "client", "title", "issue", "story", "affected", "fixed", "program")
    }
