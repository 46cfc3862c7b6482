"""The examples in the documents: fenced blocks with a language."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet

from .project_files import FILES, name

DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
OUTPUT = re.compile(r"\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block of a document: its place ("README.md:12"), its language and its text.

    Attributes:
        output: what the document says that it prints: the block of `text` that follows at once.
    """

    place: str
    language: str
    text: str
    output: str | None = None

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
                if "ottla museum run" in body:  # it installs versions of clients
                    marks.append(pytest.mark.slow)
                printed = OUTPUT.match(text, block.end())
                output = None if printed is None else printed[1]
                example = Example(place, language, body, output)
                found.append(pytest.param(example, id=place, marks=marks))
    return found


def example_of(parameter: ParameterSet) -> Example:
    """The example in a parameter of a test."""
    (found,) = parameter.values
    assert isinstance(found, Example)
    return found


def needs_spark_kafka(example: Example) -> bool:
    """Whether it needs a Spark session: tests/spark/test_examples.py runs it, in its session."""
    return example.is_for_pytest and "spark_kafka" in example.text
