"""Ottla changes nothing in the process of its users, and their client libraries stay theirs.

Each test runs a program of its own. `process_state.py` says what is compared.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ottla

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
IMPORTS = {
    "kafka-python": "from kafka import KafkaConsumer, KafkaProducer",
    "aiokafka": "from aiokafka import AIOKafkaConsumer, AIOKafkaProducer",
    "confluent-kafka": "from confluent_kafka import Consumer, Producer",
}
# A record by each library to the topic `mine` of `broker`.
SENDS = {
    "kafka-python": """
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        producer.send("mine", b"a broom").get(20)
        producer.close()
    """,
    "aiokafka": """
        import asyncio
        async def send():
            async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
                await producer.send_and_wait("mine", b"a broom")
        asyncio.run(send())
    """,
    "confluent-kafka": """
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("mine", b"a broom")
        assert producer.flush(20) == 0
    """,
}
TALKS = """
    broker.produce("ottla", ["a pan"])
    assert broker.read("ottla")[-1].value == b"a pan"
"""


def run(*parts: str, environment: dict[str, str] | None = None) -> str:
    """Run a program; return what it prints."""
    program = "\n".join(parts)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("moment", ["before", "between", "after"])
def test_client_libraries_are_whole_whenever_they_are_imported(moment: str) -> None:
    """Before Ottla, between two of its calls, and when its last broker is gone."""
    imported = {moment: "\n".join(IMPORTS.values())}
    inside = [TALKS, imported.get("between", ""), TALKS]
    if moment != "after":
        inside += [*SENDS.values(), "each = [record.value for record in broker.read('mine')]"]
        inside.append("assert each == [b'a broom'] * 3, each")
    run(
        imported.get("before", ""),
        "from ottla.testing import Ottla",
        "with Ottla() as broker:",
        *(textwrap.indent(textwrap.dedent(part), "    ") for part in inside),
        imported.get("after", ""),
    )


@pytest.mark.parametrize("library", IMPORTS)
def test_a_client_library_is_whole_when_threads_import_it_beside_ottlas_first_request(
    library: str,
) -> None:
    found = run(
        "import threading",
        "from ottla.testing import Ottla",
        "together, done = threading.Barrier(4), []",
        textwrap.dedent(f"""
        def imports():
            together.wait()
            {IMPORTS[library]}
            done.append("imported")

        def talks(broker, topic):
            together.wait()
            broker.produce(topic, ["a pan"])
            done.append("talked")

        with Ottla() as broker:
            threads = [threading.Thread(target=imports) for _ in range(2)]
            threads += [threading.Thread(target=talks, args=(broker, each)) for each in "ab"]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        print(*sorted(done))
        """),
    )
    assert found.split() == ["imported"] * 2 + ["talked"] * 2


def test_client_libraries_are_whole_in_the_processes_of_xdist(pytester: pytest.Pytester) -> None:
    tests = []
    for number, (library, statement) in enumerate(IMPORTS.items()):
        sends = textwrap.indent(textwrap.dedent(SENDS[library]), "    ").replace(
            '"mine"', "ottla_topic"
        )
        tests.append(
            f"def test_{number}(ottla, ottla_topic):\n"
            "    broker = ottla\n"
            f"    {statement}\n{sends}\n"
            "    assert [each.value for each in ottla.read(ottla_topic)] == [b'a broom']\n"
        )
    pytester.makepyfile("\n\n".join(tests))
    result = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3)


# What these libraries do to a process is not Ottla's; some modules import them.
OTHERS = ("aiokafka", "confluent_kafka", "numpy", "pyarrow.parquet")
OTHERS_OF_SPARK = (
    *OTHERS,
    "pandas",
    "pyspark.sql.datasource",
    "pyspark.sql.functions",
    "rich.style",
)
IMPORTS_OTHERS = """
    import importlib
    for name in OTHERS:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            pass
"""
STATE = """
    from ottla.testing import Ottla
    from tests.testing.process_state import changes, settle, state
    settle()
    before = state()
"""
COMPARE = """
    found = changes(before, state())
    assert not found, "\\n".join(found)
"""


def public_modules(*, of_spark: bool) -> list[str]:
    """The modules of `ottla.spark`, or all others, but for programs, which are not imported."""
    programs = (
        "ottla.__main__",
        "ottla.trials.museum.programs",
        "ottla.trials.process_group_watcher",
    )
    found = [each.name for each in pkgutil.walk_packages(ottla.__path__, "ottla.")]
    found = [each for each in found if each.startswith("ottla.spark") is of_spark]
    return ["ottla", *(each for each in found if not each.startswith(programs))]


@pytest.mark.parametrize("of_spark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_import_of_modules_changes_nothing(of_spark: bool) -> None:
    run(
        f"OTHERS = {OTHERS_OF_SPARK if of_spark else OTHERS!r}",
        textwrap.dedent(IMPORTS_OTHERS),
        "from tests.testing.process_state import changes, settle, state",
        "settle(); before = state()",
        textwrap.dedent(f"""
        for name in {public_modules(of_spark=of_spark)!r}:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as missing:
                assert missing.name.partition(".")[0] not in ("ottla", "kafka"), missing
        """),
        textwrap.dedent(COMPARE),
    )


USES = {
    "data": """
        with Ottla() as broker:
            broker.create_topic("orders", partitions=2)
            broker.produce("orders", ["a", ("k", "b")], transactional_id="shop")
            assert len(broker.read("orders", until=2)) == 2
            broker.transactions(), broker.offsets("others")
            saved = broker.snapshot()
            broker.kill()
            broker.start()
            broker.restore(saved)
            broker.restart()
    """,
    "lab": """
        with Ottla(clock="manual") as broker:
            broker.create_topic("orders")
            broker.trace.start()
            with broker.faults.expect("delay", match={"api": "Metadata"}, ms=1) as fault:
                broker.read("orders")
            broker.trace.lines("Metadata")
            broker.clock.advance(minutes=5)
            broker.given("ongoing_transaction", topic="orders", transactional_id="shop")
    """,
    "nodes": """
        with Ottla(nodes=3) as broker:
            broker.create_topic("orders", replication_factor=3)
            broker.nodes[2].stop()
            broker.produce("orders", ["a"])
            broker.nodes[2].start()
    """,
    "many brokers": """
        for _ in range(3):
            with Ottla() as broker:
                broker.produce("orders", ["a"])
        from ottla.testing import process
        process._templates.close()
        del before["exit handlers"]  # Python counts one that was taken back, too
    """,
    "logins": """
        with Ottla(security="SASL_SSL", users={"mia": "secret"}) as broker:
            broker.produce("orders", ["a"])
            for client in ("confluent", "java", "kafka-python", "franz-go", "kafkajs", "spark"):
                broker.client_settings(client)
    """,
    "asyncio": """
        import asyncio
        async def use():
            async with Ottla() as broker:
                await asyncio.to_thread(broker.produce, "orders", ["a"])
        asyncio.run(use())
    """,
    "failures": """
        from ottla.testing import BrokerFailed
        try:
            Ottla(settings={"num.partitions": "x"}).start()
        except BrokerFailed:
            pass
        try:
            with Ottla() as broker:
                broker.kill()
                broker.produce("orders", ["a"])
        except Exception as refused:
            assert type(refused).__name__ == "NoAnswer", refused
    """,
    "unittest": """
        import io, unittest
        from ottla.testing import OttlaTestMixin
        class Test(OttlaTestMixin, unittest.TestCase):
            def test_it(self):
                self.ottla.produce("orders", ["a"])
                self.fresh_ottla().produce("orders", ["a"])
            def test_fails(self):
                self.fail("as wanted")
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Test)
        result = unittest.TextTestRunner(io.StringIO(), warnings="ignore").run(suite)
        assert result.testsRun == 2 and not result.errors, result.errors
    """,
    "ports": """
        from ottla.testing import closed_port, silent_port
        with closed_port(), silent_port():
            pass
    """,
}


@pytest.mark.parametrize("use", USES)
def test_a_use_of_ottla_testing_changes_nothing(use: str) -> None:
    # With a template, one process and its sockets stay for later brokers; "many brokers" ends it.
    template = "1" if use == "many brokers" else "0"
    run(
        *map(textwrap.dedent, (STATE, USES[use], COMPARE)), environment={"OTTLA_TEMPLATE": template}
    )


def test_a_process_that_is_forked_leaves_the_brokers_to_its_parent() -> None:
    """It leaves the body of the `with` by its end, as `sys.exit` does."""
    found = run(
        """
        import os, sys
        from ottla.testing import Ottla
        with Ottla() as first, Ottla() as second:  # the second one is of a template
            child = os.fork()
            if child == 0:
                sys.exit(3)
            _, status = os.waitpid(child, 0)
            for each in (first, second):
                each.produce("orders", ["a"])
                assert len(each.read("orders")) == 1
            print(os.waitstatus_to_exitcode(status))
        """.replace("\n        ", "\n")
    )
    assert found == "3\n"


@pytest.mark.parametrize("trace", ["off", "on-failure"])
def test_brokers_and_their_logs_do_without_a_current_directory(tmp_path: Path, trace: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_DIRECTORY.format(gone=str(gone), trace=trace)],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "AssertionError: as wanted" in done.stderr
    assert "FAILED (failures=1)" in done.stderr
    assert "Ottla's log (127.0.0.1" in done.stderr


_WITHOUT_DIRECTORY = """
import shutil
import unittest

from ottla.testing import Ottla, OttlaTestMixin

shutil.rmtree({gone!r})


class Test(OttlaTestMixin, unittest.TestCase):
    ottla_trace = {trace!r}

    def test_it(self):
        for broker in (self.ottla, self.fresh_ottla()):
            broker.produce("orders", ["a"])
            broker.kill()
            broker.start()
            assert len(broker.read("orders")) == 1
        self.fail("as wanted")


unittest.main()
"""
