"""The examples in the documents: fenced blocks with a language."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet

from .project_files import FILES, name

DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block of a document: its place ("README.md:12"), its language and its text."""

    place: str
    language: str
    text: str

    @property
    def is_for_pytest(self) -> bool:
        """Whether it defines tests."""
        return re.search(r"^(?:async )?def test_", self.text, re.MULTILINE) is not None


def examples(*languages: str) -> list[ParameterSet]:
    """The examples in these languages, as parameters of a test."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text()
        for block in BLOCK.finditer(text):
            language, body = block.groups()
            if language in languages:
                place = f"{name(path)}:{text.count(chr(10), 0, block.start()) + 1}"
                marks = [pytest.mark.spark] if "spark" in body.lower() else []
                found.append(pytest.param(Example(place, language, body), id=place, marks=marks))
    return found


def example_of(parameter: ParameterSet) -> Example:
    """The example in a parameter of a test."""
    (found,) = parameter.values
    assert isinstance(found, Example)
    return found


def needs_spark_kafka(example: Example) -> bool:
    """Whether it needs a Spark session: tests/spark/test_examples.py runs it, in its session."""
    return example.is_for_pytest and "spark_kafka" in example.text
