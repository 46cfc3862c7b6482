"""A variable that begins with OTTLA_ and that nothing reads is named."""

from __future__ import annotations

import re

import pytest

from ottla.console.variables import GIVEN, OF_ITS_TESTS, READ, unread_variables
from tests.project_files import FILES, ROOMS, name

A_VARIABLE = re.compile(r"(?<![A-Z_])OTTLA_[A-Z]+(?:_[A-Z]+)*(?![A-Z_])")
PLACES = (*(f"{room}/" for room in ROOMS), "benchmarks/", "docs/", "docker/", "examples/", "src/")
HERE = ("console/variables.py",)


def test_a_misspelt_variable_gets_a_suggestion() -> None:
    environ = {"OTTLA_LOG_LEVLE": "debug", "OTTLA_LOG_LEVEL": "debug", "PATH": "/bin"}
    (sentence,) = unread_variables(environ)
    assert sentence.startswith("OTTLA_LOG_LEVLE is no variable of Ottla")
    assert sentence.endswith("(did you mean OTTLA_LOG_LEVEL?)")


@pytest.mark.parametrize(
    "variable",
    ["OTTLA_PORT", "OTTLA_PORT_9092_TCP_ADDR", "OTTLA_SERVICE_HOST", "OTTLA_SERVICE_PORT_KAFKA"],
)
def test_variables_of_a_service_in_kubernetes_are_no_mistake(variable: str) -> None:
    assert not unread_variables({variable: "tcp://10.0.0.1:9092"})


def test_the_table_has_every_variable_of_the_project() -> None:
    used = {
        variable
        for path in FILES
        if name(path).startswith(PLACES)
        and name(path) not in HERE
        and path.suffix in (".py", ".md", ".sh", ".toml", ".yml", ".go", ".js", ".java", "")
        for variable in A_VARIABLE.findall(path.read_text(errors="replace"))
    }
    known = {*READ, *GIVEN, *OF_ITS_TESTS}
    assert used <= known, f"add them to ottla.console.variables: {sorted(used - known)}"
