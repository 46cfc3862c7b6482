"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from typing import ClassVar

import pytest

from ottla.serving.health import answers
from ottla.testing import Ottla, OttlaTestMixin

pytest_plugins = ["pytester"]

ANSWERS = """
    import socket

    def answers(broker):
        for bootstrap in broker.bootstrap_servers.split(","):
            host, port = bootstrap.split(":")
            socket.create_connection((host, int(port)), timeout=5).close()
        return True

    def setting(broker, name):
        from confluent_kafka.admin import AdminClient, ConfigResource
        node = ConfigResource(ConfigResource.Type.BROKER, "1")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        return admin.describe_configs([node])[node].result(10)[name].value

    def level(broker, logger="root"):
        from ottla.client.admin.configs import Resource, describe_settings
        from ottla.client import Client
        host, port = broker.bootstrap_servers.split(":")
        client = Client(host, int(port))
        found = describe_settings(client, Resource.BROKER_LOGGER, "1")
        client.close()
        return next(each.value for each in found if each.name == logger)
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A directory with the module `broker_answers`."""
    # pytest-asyncio warns of projects that leave this open.
    monkeypatch.delenv("CI", raising=False)  # with it pytest shows more of each failure
    monkeypatch.setenv("PYTEST_ADDOPTS", "-o asyncio_default_fixture_loop_scope=function")
    pytester.makepyfile(broker_answers=ANSWERS)
    pytester.syspathinsert()
    return pytester


def passes(pytester: pytest.Pytester, count: int, *arguments: str) -> pytest.RunResult:
    """Run the tests of the project, all of which must pass; return the result."""
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default", *arguments)
    assert result.parseoutcomes().get("passed") == count, result.stdout.str()
    assert not {"failed", "errors"} & result.parseoutcomes().keys()
    return result


def test_the_broker_of_the_session_is_shared_and_a_fresh_one_is_not(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        from broker_answers import answers

        seen = []

        def test_one(ottla, ottla_broker):
            assert answers(ottla) and answers(ottla_broker)
            seen.extend([ottla.pid, ottla_broker.pid, ottla_broker.log_path.parent])

        def test_two(ottla, ottla_broker):
            assert ottla.pid == seen[0]
            assert ottla_broker.pid not in seen
            assert not seen[2].exists()
        """
    )
    passes(pytester, 2)


def test_asynchronous_tests_use_the_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from broker_answers import answers

        @pytest.mark.asyncio
        async def test_one(ottla, ottla_broker):
            assert answers(ottla) and answers(ottla_broker)
        """
    )
    passes(pytester, 1)


def test_settings_come_from_the_ini_file_and_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        """
        [pytest]
        ottla_settings =
            num.partitions = 3
            log.retention.hours = 5
        ottla_nodes = 2
        """
    )
    pytester.makepyfile(
        """
        from broker_answers import setting

        def test_one(ottla, ottla_broker):
            for broker in (ottla, ottla_broker):
                assert setting(broker, "num.partitions") == "4"
                assert setting(broker, "log.retention.hours") == "5"
            assert len(ottla.nodes) == len(ottla_broker.nodes) == 2
        """
    )
    passes(pytester, 1, "--ottla-settings", "num.partitions=4")


def test_the_log_level_comes_from_the_ini_file_or_the_command_line(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nottla_log_level = warn")
    pytester.makepyfile(
        """
        import pytest
        from broker_answers import level

        def test_session(ottla, text):
            assert level(ottla) == text

        @pytest.mark.ottla(log_level="kafka.authorizer.logger=debug")
        def test_fresh(ottla_broker):
            assert level(ottla_broker) == "INFO"
            assert level(ottla_broker, "kafka.authorizer.logger") == "DEBUG"
        """,
        conftest="""
        import pytest

        @pytest.fixture
        def text(pytestconfig):
            return (pytestconfig.getoption("--ottla-log-level") or "warn").upper()
        """,
    )
    passes(pytester, 2)
    passes(pytester, 2, "--ottla-log-level", "error")


def test_a_marker_sets_up_the_fresh_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from broker_answers import setting

        @pytest.mark.ottla(settings={"num.partitions": "7"}, nodes=2)
        def test_one(ottla_broker):
            assert setting(ottla_broker, "num.partitions") == "7"
            assert len(ottla_broker.nodes) == 2
        """
    )
    passes(pytester, 1, "--strict-markers")


def test_a_topic_is_new_and_on_the_broker_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        names = set()

        @pytest.mark.parametrize("text", ["a b", "ä/ö"])
        def test_one(ottla, ottla_topic, text):
            assert ottla_topic.startswith("test-one-")
            names.add(ottla_topic)
            ottla.produce(ottla_topic, [text])
            assert [each.value for each in ottla.read(ottla_topic)] == [text.encode()]

        @pytest.mark.ottla_topic(partitions=3, cleanup_policy="compact")
        def test_two(ottla_broker, ottla_topic):
            assert len(names) == 2
            stored = ottla_broker.produce(ottla_topic, [{"key": "k", "partition": 2}])
            assert stored == [(ottla_topic, 2, 0)]
        """
    )
    passes(pytester, 3, "--strict-markers")


def test_an_overridden_fixture_gives_the_settings(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def ottla_settings():
            return {"num.partitions": "6"}
        """
    )
    pytester.makepyfile(
        """
        from broker_answers import setting

        def test_one(ottla, ottla_broker):
            for broker in (ottla, ottla_broker):
                assert setting(broker, "num.partitions") == "6"
        """
    )
    passes(pytester, 1)


def test_a_wrong_setting_is_an_error_with_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(ottla): pass")
    result = pytester.runpytest_inprocess("--ottla-settings", "num.partition=1")
    result.assert_outcomes(errors=1)
    assert "is no broker setting of Kafka 4.4; did you mean num.partitions?" in result.stdout.str()


def test_the_fresh_broker_can_be_that_of_the_session_as_before(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nottla_broker_scope = session\n")
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def pid(ottla_broker):
            return ottla_broker.pid

        def test_one(ottla, ottla_broker, pid):
            assert ottla is ottla_broker
            assert ottla.pid == pid
        """
    )
    passes(pytester, 1)


def test_a_killed_broker_of_the_session_is_named_and_started_again(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        import os, signal
        from broker_answers import answers

        addresses = set()

        def test_before(ottla):
            addresses.add(ottla.bootstrap_servers)

        def test_kills(ottla):
            os.kill(ottla.pid, signal.SIGKILL)

        def test_between(ottla):
            addresses.add(ottla.bootstrap_servers)
            assert answers(ottla)

        def test_stops(ottla):
            ottla.stop()

        def test_after(ottla):
            addresses.add(ottla.bootstrap_servers)
            assert answers(ottla)
            assert len(addresses) == 1

        def test_kills_as_the_last_one(ottla):
            ottla.kill()
        """
    )
    output = passes(pytester, 6).stdout.str()
    left = re.findall(r"test_it\.py::(\w+) left the session's broker dead", output)
    assert left == ["test_kills", "test_stops", "test_kills_as_the_last_one"]


def test_a_stopped_node_of_the_session_is_named_and_started_again(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        from broker_answers import answers

        def test_stops(ottla):
            ottla.nodes[2].stop()

        def test_after(ottla):
            assert answers(ottla)
        """
    )
    output = passes(pytester, 2, "--ottla-nodes", "2").stdout.str()
    assert "test_it.py::test_stops left node 2 of the session's broker stopped" in output


def test_each_test_with_a_broker_runs_once_for_each_release(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from broker_answers import setting

        PROTOCOLS = "group.coordinator.rebalance.protocols"
        DEFAULTS = {"2.8": None, "3.9": "classic", "4.1": "classic,consumer,streams"}

        def test_of_the_session(ottla, ottla_as, ottla_topic):
            if DEFAULTS[ottla_as]:
                assert setting(ottla, PROTOCOLS) == DEFAULTS[ottla_as]
            ottla.produce(ottla_topic, [b"a"])
            assert [record.value for record in ottla.read(ottla_topic)] == [b"a"]

        def test_of_its_own(ottla_broker, ottla_as):
            if DEFAULTS[ottla_as]:
                assert setting(ottla_broker, PROTOCOLS) == DEFAULTS[ottla_as]

        def test_without(tmp_path):
            pass
        """
    )
    passes(pytester, 7, "--ottla-as", "2.8,3.9,4.1")


def test_damaged_data_of_the_sessions_broker_is_replaced(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from broker_answers import answers

        def test_damages(ottla):
            ottla.kill()
            (ottla.data_dir / "meta.properties").write_text("cluster.id=another\\nnode.id=9\\n")

        def test_after(ottla):
            assert answers(ottla)
        """
    )
    output = passes(pytester, 2).stdout.str()
    assert "test_it.py::test_damages left the session's broker dead" in output
    assert "its data was damaged, so it was started again without data" in output


def test_a_warning_about_the_sessions_broker_can_be_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_kills(ottla): ottla.kill()\ndef test_after(ottla): ottla.pid")
    result = pytester.runpytest_inprocess("-W", "error::ottla.testing.pytest_support.OttlaWarning")
    result.assert_outcomes(passed=2, errors=1)


FAILURES = """
    import os, signal
    import pytest
    from ottla.testing import Ottla

    def test_fine(ottla):
        os.write(os.open(ottla.log_path, os.O_APPEND | os.O_WRONLY), b"a line before\\n")

    def test_session(ottla):
        os.write(os.open(ottla.log_path, os.O_APPEND | os.O_WRONLY), b"a line of the session\\n")
        assert False

    def test_fresh(ottla_broker):
        assert False

    def test_own():
        with Ottla() as broker:
            os.kill(broker.pid, signal.SIGTERM)
            broker.wait_for(lambda: not broker.runs)

    def test_silent(ottla):
        assert False
"""


def test_the_broker_log_is_in_the_report_of_a_failing_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILURES)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=4)
    reports = sections(result.stdout.str())
    assert "a line before" not in result.stdout.str()
    assert "a line of the session" in reports["test_session"]
    assert "is listening on" in reports["test_fresh"]
    assert "is listening on" in reports["test_own"]
    assert reports["test_silent"] == ""


def sections(output: str) -> dict[str, str]:
    """The section with the broker's log, by the name of the failing test; empty without one."""
    tests = re.split(r"^_{3,} (test_\w+) _{3,}$", output, flags=re.MULTILINE)
    found = {}
    for name, text in zip(tests[1::2], tests[2::2], strict=True):
        found[name] = "".join(re.findall(r"^-+ Ottla's log.*?-+$([^=]*)", text, re.MULTILINE))
    return found


def test_a_param_may_have_a_marker_of_a_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from broker_answers import setting

        one = pytest.param("1", marks=pytest.mark.ottla(settings={"num.partitions": "1"}))
        two = pytest.param("2", marks=pytest.mark.ottla(settings={"num.partitions": "2"}))

        @pytest.mark.parametrize("count", [one, two])
        def test_one(ottla_broker, count):
            assert setting(ottla_broker, "num.partitions") == count
        """
    )
    passes(pytester, 2)


LOGS = """
    import unittest
    import pytest
    from ottla.testing import OttlaTestMixin

    class TestIt(OttlaTestMixin, unittest.TestCase):
        def test_crashes(self):
            self.fresh_ottla().faults.add("crash", point="prepare_append")
            self.fail("as wanted")

        def test_errs(self):
            self.ottla.faults.add("delay", ms=1)
            self.ottla.nodes[1].stop()
            raise KeyError("as wanted")

        def test_passes(self):
            self.ottla.nodes[1].stop()
            self.ottla.nodes[1].start()

    if __name__ == "__main__":
        unittest.main()
"""
STOPPED = re.compile(r"^\S+ \[info *\] a node stops", re.MULTILINE)


def test_a_failing_unittest_shows_the_log_of_its_brokers(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(LOGS)
    done = subprocess.run(
        [sys.executable, str(path), "TestIt.test_errs"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    _, _, log = done.stderr.partition("Ottla's log (127.0.0.1:")
    assert STOPPED.search(log), done.stderr
    fine = subprocess.run(
        [sys.executable, str(path), "TestIt.test_passes"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Ottla's log" not in fine.stderr


def test_the_log_of_a_failing_test_has_the_form_of_a_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LOGS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-k", "errs")
    output = result.stdout.str()
    assert STOPPED.search(output), output
    assert '{"level"' not in output
    assert output.count("Ottla's log") == 1


def test_each_worker_of_xdist_has_a_broker_and_sends_its_log(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os
        import pytest
        from pathlib import Path

        @pytest.mark.parametrize("number", range(4))
        def test_one(ottla, number):
            (Path(os.environ["SEEN"]) / f"{os.environ['PYTEST_XDIST_WORKER']}-{ottla.pid}").touch()

        def test_fails(ottla):
            ottla.log_path.open("a").write("a line of the session\\n")
            assert False
        """
    )
    seen = pytester.mkdir("seen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEN", str(seen))
        result = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=4, failed=1)
    pairs = [path.name.split("-") for path in seen.iterdir()]
    assert len({pid for _, pid in pairs}) == len(pairs) == len({worker for worker, _ in pairs})
    assert "a line of the session" in sections(result.stdout.str())["test_fails"]


def test_a_run_without_brokers_imports_nothing_for_them() -> None:
    code = "import sys, ottla.testing.pytest_plugin; print(*sys.modules)"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] == "ottla"}
    mode = "ottla.testing.story_mode"  # a name and a flag
    assert loaded == {"ottla", "ottla.testing", "ottla.testing.pytest_plugin", mode}


class TestMixin(OttlaTestMixin, unittest.TestCase):
    """The mixin, in a TestCase that pytest runs."""

    ottla_settings: ClassVar[dict[str, str]] = {"node.id": "5"}

    def test_the_class_has_a_broker(self) -> None:
        assert list(self.ottla.nodes) == [5]
        assert trouble(self.ottla) is None

    def test_a_test_can_have_a_broker_of_its_own(self) -> None:
        with_others = {self.ottla.pid, self.fresh_ottla().pid, self.fresh_ottla().pid}
        assert len(with_others) == 3


class TestAsyncMixin(OttlaTestMixin, unittest.IsolatedAsyncioTestCase):
    """The mixin, with asynchronous tests."""

    async def test_the_class_has_a_broker(self) -> None:
        assert trouble(self.ottla) is None


def trouble(broker: Ottla) -> str | None:
    host, _, port = broker.bootstrap_servers.partition(":")
    return answers(host, int(port))


def test_a_missing_java_is_one_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(pytester.path))
    pytester.makepyfile("def test_spark(spark_kafka): pass")
    # In a process of its own: this one may have a session of Spark already.
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "default")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        ["spark_kafka: Java is missing (JAVA_HOME is *): Spark needs Java 17 or newer"]
    )
    result.stdout.no_fnmatch_line("*need_java*")
