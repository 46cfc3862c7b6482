"""The examples with the fixture `spark_kafka` run, in the Spark session of these tests."""

from __future__ import annotations

import re
import runpy
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.document_examples import Example, example_of, examples, needs_spark_kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOUND = [each for each in map(example_of, examples("python")) if needs_spark_kafka(each)]
TESTS = [
    pytest.param(each, function, id=f"{each.place}-{function}", marks=pytest.mark.spark)
    for each in FOUND
    for function in re.findall(r"^def (test_\w+)", each.text, re.MULTILINE)
]


@pytest.mark.parametrize(("example", "function"), TESTS)
def test_an_example_with_the_fixture_runs(
    example: Example,
    function: str,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    file = tmp_path / "example.py"
    file.write_text(example.text)
    test = runpy.run_path(str(file))[function]
    test(**{name: request.getfixturevalue(name) for name in signature(test).parameters})


def test_there_are_examples() -> None:
    assert TESTS
