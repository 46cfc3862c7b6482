"""Brokers for the tests of `unittest`, with their logs in the texts of failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from unittest import TestResult

    from .broker import Ottla
    from .stories import Mark


_TRACES: Final = ("on-failure", "off")


class OttlaTestMixin:
    """Gives the tests of a `unittest.TestCase` one broker, `self.ottla`.

        class TestOrders(OttlaTestMixin, unittest.TestCase):
            ottla_settings = {"num.partitions": "3"}

    Attributes:
        ottla: the broker of the class.
        ottla_settings: Kafka's broker settings by name, for all brokers of the class.
        ottla_nodes: the number of nodes of each broker.
        ottla_trace: `on-failure`: a failing test leaves its story, a page and a trace, in the
            folder ottla-report; `off`.
    """

    ottla: ClassVar[Ottla]
    ottla_settings: ClassVar[Mapping[str, str]] = {}
    ottla_nodes: ClassVar[int] = 1
    ottla_trace: ClassVar[str] = "off"

    def __init_subclass__(cls, **named: Any) -> None:  # Any: of other classes
        """Refuse the mixin behind `TestCase`, which would not call it."""
        super().__init_subclass__(**named)
        for each in cls.__mro__[: cls.__mro__.index(OttlaTestMixin)]:
            if (each.__module__, each.__name__) == ("unittest.case", "TestCase"):
                raise TypeError(
                    f"class {cls.__name__}: OttlaTestMixin was expected before TestCase"
                )

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker of the class."""
        super().setUpClass()  # type: ignore[misc]  # TestCase has it
        if cls.ottla_trace not in _TRACES:
            raise ValueError(f"ottla_trace={cls.ottla_trace!r}: one of {', '.join(_TRACES)}")
        cls.ottla = cls.enterClassContext(cls._new_ottla())  # type: ignore[attr-defined]  # as well

    def fresh_ottla(self) -> Ottla:
        """Start a broker for this test alone."""
        started: Ottla = self.enterContext(self._new_ottla())  # type: ignore[attr-defined]  # as well
        return started

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test; if it fails, its text gets what its brokers have logged since it began."""
        from unittest import TestResult

        from .broker import brokers
        from .log_text import forget_closed, logs_since
        from .stories import marks_of

        sizes = {each: each.log_size() for each in list(brokers)}
        marks = marks_of(list(brokers))
        # Under pytest the result is none of unittest's, and the plugin adds the log.
        lists = [result.failures, result.errors] if isinstance(result, TestResult) else []
        known = [(each, len(each)) for each in lists]
        done: TestResult | None = super().run(result)  # type: ignore[misc]  # as above
        for found, count in known:
            if len(found) > count:
                test, text = found[-1]
                told = [*logs_since(sizes), *self._story_since(marks, text)]
                found[-1] = (test, "".join([text, *told]))
        if known:
            forget_closed()
        return done

    def _story_since(self, marks: Mapping[Ottla, Mark], failure: str) -> Iterator[str]:
        from pathlib import Path

        from .broker import brokers
        from .stories import stories_since, write_stories

        stories = stories_since(list(brokers), marks)
        if not stories:
            return
        name: str = self.id()  # type: ignore[attr-defined]  # TestCase has it
        folder = Path("ottla-report")
        with suppress(OSError):  # the current directory was removed
            folder = folder.absolute()
        told = write_stories(stories, folder, name, failure=failure)
        for title, text in told.sections:
            yield f"\n{title}:\n{text}\n"

    @classmethod
    def _new_ottla(cls) -> Ottla:
        from .broker import Ottla

        made = Ottla(settings=cls.ottla_settings, nodes=cls.ottla_nodes)
        made.tells_stories = made.tells_stories or cls.ottla_trace != "off"
        return made
