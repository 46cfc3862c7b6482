"""`ottla fault`: the rules of a broker with a control."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ...console.options import CannotRun
from ...console.tables import Table, print_answer, print_error, print_json, print_table
from ..shared_options import AsJson, Subcommands
from .lab_options import Control, lab_of


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    fault = Subcommands(
        app,
        "fault",
        help="Add and remove faults of a broker that runs with --control.",
        example="""ottla fault add drop_answer '{"api": "EndTxn"}' close=true""",
    )
    fault.add("add", _add, example="""ottla fault add delay '{"api": "Fetch"}' ms=200""")
    fault.add("list", _list, example="ottla fault list")
    fault.add("release", _release, example="ottla fault release 1")
    fault.add("remove", _remove, example="ottla fault remove 1")
    fault.add("clear", _clear, example="ottla fault clear")


def _add(
    kind: Annotated[
        str, typer.Argument(metavar="ACTION", help="Such as hold; docs/reference/lab has all.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MATCH] [NAME=VALUE]...",
            help="What it matches, in JSON (default: all requests), and values of the action.",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="For people.")] = "",
    goes_on: Annotated[
        bool, typer.Option("--continue", help="Later rules are tried, too, when it has fired.")
    ] = False,
    as_json: AsJson = False,
    control: Control = "",
) -> None:
    """Add a rule, and print its id."""
    parameters = words or []
    wanted: object = {}
    if parameters and parameters[0].lstrip().startswith("{"):
        match, *parameters = parameters
        try:
            wanted = json.loads(match)
        except (ValueError, RecursionError) as wrong:
            raise CannotRun(f"fault add {match[:80]}: the match is no JSON: {wrong}") from None
    action = {"kind": kind, **dict(map(_parameter, parameters))}
    with lab_of(control) as lab:
        rule = {
            "match": wanted, "action": action, "name": name, "continue": goes_on,
            "added_by": "ottla fault add",
        }  # fmt: skip
        added = lab.call("POST", "/faults", rule)
    print_answer(added, str(added["id"]), as_json=as_json)
    for each in added.get("warnings", ()):
        print_error(f"ottla: warning: {each}")


def _parameter(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CannotRun(f"fault add {text}: a match in JSON, or NAME=VALUE, was expected")
    try:
        return name, json.loads(value)
    except ValueError:  # a text without quotes
        return name, value


def _list(as_json: AsJson = False, control: Control = "") -> None:
    """List the rules, how often they matched and fired, and how many requests they hold."""
    with lab_of(control) as lab:
        rules: list[dict[str, Any]] = lab.call("GET", "/faults")
    if as_json:
        print_json(rules)
        return
    columns = ["id", "name", "match", "action", "matched", "fired", "held"]
    rows = [
        [
            str(rule["id"]), rule["name"], _short(rule["match"]), _short(rule["action"]),
            str(rule["matched"]), str(rule["fired"]), str(rule["held"]),
        ]
        for rule in rules
    ]  # fmt: skip
    print_table(Table("rules", columns, rows))


def _short(fields: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in fields.items())


def _release(
    number: Annotated[int, typer.Argument(metavar="ID", min=0)],
    as_json: AsJson = False,
    control: Control = "",
) -> None:
    """Let the requests that a rule holds go on."""
    with lab_of(control) as lab:
        answer = lab.call("POST", f"/faults/{number}/release")
    print_answer(answer, f"{answer['released']} released", as_json=as_json)


def _remove(
    number: Annotated[int, typer.Argument(metavar="ID", min=0)],
    as_json: AsJson = False,
    control: Control = "",
) -> None:
    """Remove a rule."""
    with lab_of(control) as lab:
        answer = lab.call("DELETE", f"/faults/{number}")
    print_answer(answer, f"removed; it had fired {answer['fired']} times", as_json=as_json)


def _clear(as_json: AsJson = False, control: Control = "") -> None:
    """Remove all rules."""
    with lab_of(control) as lab:
        answer = lab.call("DELETE", "/faults")
    print_answer(answer, f"{answer['removed']} removed", as_json=as_json)
