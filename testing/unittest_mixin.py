"""Brokers for the tests of `unittest`, with their logs in the texts of failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from unittest import TestResult

    from .broker import Ottla


class OttlaTestMixin:
    """Gives the tests of a `unittest.TestCase` one broker, `self.ottla`.

        class TestOrders(OttlaTestMixin, unittest.TestCase):
            ottla_settings = {"num.partitions": "3"}

    Attributes:
        ottla: the broker of the class.
        ottla_settings: Kafka's broker settings by name, for all brokers of the class.
        ottla_nodes: the number of nodes of each broker.
    """

    ottla: ClassVar[Ottla]
    ottla_settings: ClassVar[Mapping[str, str]] = {}
    ottla_nodes: ClassVar[int] = 1

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker of the class."""
        super().setUpClass()  # type: ignore[misc]  # TestCase has it
        cls.ottla = cls.enterClassContext(cls._new_ottla())  # type: ignore[attr-defined]  # as well

    def fresh_ottla(self) -> Ottla:
        """Start a broker for this test alone."""
        started: Ottla = self.enterContext(self._new_ottla())  # type: ignore[attr-defined]  # as well
        return started

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test; if it fails, its text gets what its brokers have logged since it began."""
        from unittest import TestResult

        from .broker import brokers
        from .log_text import logs_since

        sizes = {each: each.log_size() for each in list(brokers)}
        # Under pytest the result is none of unittest's, and the plugin adds the log.
        lists = [result.failures, result.errors] if isinstance(result, TestResult) else []
        known = [(each, len(each)) for each in lists]
        done: TestResult | None = super().run(result)  # type: ignore[misc]  # as above
        for found, count in known:
            if len(found) > count:
                test, text = found[-1]
                found[-1] = (test, "".join([text, *logs_since(sizes)]))
        return done

    @classmethod
    def _new_ottla(cls) -> Ottla:
        from .broker import Ottla

        return Ottla(settings=cls.ottla_settings, nodes=cls.ottla_nodes)
