"""Variables of a container that are options of `ottla serve`."""

from __future__ import annotations

import pytest

from ottla.console.options import SERVE_OPTIONS
from ottla.console.variables import unread_variables
from ottla.serving.container_options import VARIABLES, WrongVariable, options_from_variables
from ottla.serving.serve import parser


def test_every_option_that_the_help_shows_has_a_variable() -> None:
    shown = {option.flag for option in SERVE_OPTIONS if option.text}
    assert {option.flag for option in VARIABLES.values()} == shown - {"--environment"}
    assert not unread_variables(dict.fromkeys(VARIABLES, "1"))


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        ({"OTTLA_NODES": "3"}, ["--nodes=3"]),
        ({"OTTLA_METRICS": "0.0.0.0:9100"}, ["--metrics=0.0.0.0:9100"]),
        ({"OTTLA_NODES": "", "OTTLA_CONTROL_ANYWHERE": "no"}, []),
        (
            {"OTTLA_CONTROL": "0.0.0.0:9300", "OTTLA_CONTROL_ANYWHERE": "True"},
            ["--control=0.0.0.0:9300", "--control-anywhere"],
        ),
        (
            {"OTTLA_SETTINGS": "num.partitions=3\n\n log.dirs=/d, e\n"},
            ["--set=num.partitions=3", "--set=log.dirs=/d, e"],
        ),
    ],
)
def test_a_variable_is_its_option(variables: dict[str, str], options: list[str]) -> None:
    assert options_from_variables(variables, []) == options
    parser().parse_args(options)


@pytest.mark.parametrize("word", ["--nodes", "--nodes=2"])
def test_the_command_line_takes_precedence(word: str) -> None:
    assert options_from_variables({"OTTLA_NODES": "3"}, [word, "2"]) == []


def test_settings_of_both_places_count() -> None:
    found = options_from_variables({"OTTLA_SETTINGS": "num.partitions=3"}, ["--set", "a=b"])
    assert found == ["--set=num.partitions=3"]


def test_a_switch_takes_true_or_false() -> None:
    with pytest.raises(WrongVariable, match=r"^OTTLA_READY_JSON=ja: must be true or false$"):
        options_from_variables({"OTTLA_READY_JSON": "ja"}, [])
