"""The help of every command, the documentation of the command line, and its options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.cli.app import COMMANDS, given_twice, made
from ottla.console.options import SERVE_OPTIONS, TEMPLATE_OPTIONS, Option

from .command_names import commands

ROOT = Path(__file__).parent.parent.parent


def help_of(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def test_all_commands_are_known() -> None:
    assert {words[0] for words in commands()} == set(COMMANDS)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
@pytest.mark.parametrize("columns", [80, 120])
def test_help_has_an_example(
    words: tuple[str, ...],
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = help_of(*words, capsys=capsys)
    assert f"Example: ottla {' '.join(words)}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_is_documented(words: tuple[str, ...]) -> None:
    assert f"ottla {' '.join(words)}" in (ROOT / "docs/reference/cli.md").read_text()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_has_json_output(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--json" in help_of(*words, capsys=capsys)


@pytest.mark.parametrize(
    ("name", "options"), [("serve", SERVE_OPTIONS), ("template", TEMPLATE_OPTIONS)]
)
def test_help_shows_the_options_that_argparse_reads(
    name: str, options: tuple[Option, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    text = help_of(name, capsys=capsys)
    for each in options:
        for flag in each.flags:
            assert (flag in text) == bool(each.text)


def test_the_usage_after_a_wrong_option_shows_no_option_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--no-such"])
    said = capsys.readouterr().err
    shown = {each.flag for each in SERVE_OPTIONS if re.search(rf"{each.flag}\b(?!-)", said)}
    hidden = {each.flag for each in SERVE_OPTIONS if not each.text}
    assert "--answer-health" in hidden
    assert hidden & shown == set()
    assert "--data-dir" in shown


def test_a_wrong_option_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["txn", "list", "--no-such"]) == 2
    assert main(["no-such"]) == 2
    for name in ("serve", "health", "template"):
        with pytest.raises(SystemExit) as ended:
            main([name, "--no-such"])
        assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_completion_knows_the_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_OTTLA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "ottla se")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["serve"]


def test_exit_statuses_are_in_the_help_and_in_the_documentation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    documented = (ROOT / "docs/reference/cli.md").read_text()
    text = " ".join(help_of(capsys=capsys).split())
    assert "Exit status: 0 fine, 1 the broker refused" in text
    for status in (0, 1, 2, 130):
        assert re.search(rf"^\| {status} \|", documented, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["conform", "--rule", "a", "--rule=b", "--trace", "t"], ""),
        (["conform", "--trace", "a", "--trace", "b"], "--trace"),
        (["conform", "--trace=a", "--trace=b"], "--trace"),
        (["torture", "--seed", "1", "--verbose", "--verbose", "--seed", "2"], "--seed"),
        (["torture", "--seed", "1", "--", "program", "--seed", "2", "--seed", "3"], ""),
        (["topics", "create", "t", "-p", "2", "--partitions", "3"], "--partitions"),
        (["topics", "create", "t", "-c", "a=1", "--config", "b=2"], ""),
        (["produce", "t", "--key", "--key", "x"], ""),  # a value that looks like an option
        (["consume", "t", "--from", "-2"], ""),
        (["topics"], ""),
    ],
)
def test_an_option_that_takes_one_value_is_not_given_twice(words: list[str], flag: str) -> None:
    assert given_twice(made([words[0]]), words) == flag


def test_an_option_that_is_given_twice_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["oracle", "--history", "a", "--history", "b"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "ottla: --history is given twice, and takes one value\n"


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["serve", "--nodes", "2", "--nodes=3"], "--nodes"),
        (["serve", "--data-dir", "a", "--set", "a=1", "--set=b=2", "--data-dir=b"], "--data-dir"),
        (["template", "--socket", "a", "--socket", "b"], "--socket"),
        (["health", "-b", "a:1", "--bootstrap", "b:2"], "--bootstrap"),
    ],
)
def test_commands_of_argparse_refuse_an_option_that_is_given_twice(
    words: list[str], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"ottla: {flag} is given twice, and takes one value\n"


def test_health_takes_one_list_of_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "a:1", "--bootstrap", "b:2"]) == 2
    assert "given twice" in capsys.readouterr().err
