"""Mistakes of a test's author: wrong markers and options of the pytest plugin, in few lines."""

from __future__ import annotations

import re

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def terse(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of pytest show what they show on a machine of a developer."""
    monkeypatch.delenv("CI", raising=False)  # with it pytest shows more of each failure
    # pytest-asyncio warns of projects that leave this open.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-o asyncio_default_fixture_loop_scope=function")


def passes(pytester: pytest.Pytester, count: int, *arguments: str) -> str:
    """Run the tests of the project, all of which must pass; return the output."""
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default", *arguments)
    assert result.parseoutcomes().get("passed") == count, result.stdout.str()
    assert not {"failed", "errors"} & result.parseoutcomes().keys()
    return result.stdout.str()


MISTAKES = {
    '@pytest.mark.ottla(setings={"num.partitions": "3"})': "setings; did you mean settings?",
    '@pytest.mark.ottla({"num.partitions": "3"})': "keywords were expected",
    '@pytest.mark.ottla(settings={"num.partition": "3"})': "did you mean num.partitions?",
    '@pytest.mark.ottla(settings="num.partitions=3")': "a mapping was expected",
    '@pytest.mark.ottla(nodes="3")': "nodes='3': a number from 1 on was expected",
    "@pytest.mark.ottla(nodes=0)": "nodes=0: a number from 1 on was expected",
    '@pytest.mark.ottla(clock="manuel")': "the clocks are system, manual and manual:MS",
    '@pytest.mark.ottla(as_kafka="3")': "there is no release 3; the releases are 2.8",
    '@pytest.mark.ottla(emulate="KAFKA-1")': "there is no bug KAFKA-1 to rehearse",
    '@pytest.mark.ottla(security="SASL")': "security='SASL' must be one of PLAINTEXT, SSL",
    '@pytest.mark.ottla(security="SASL_PLAINTEXT")': "SASL_PLAINTEXT needs users",
    '@pytest.mark.ottla(mechanism="SCRAM")': "mechanism='SCRAM' must be one of PLAIN",
    '@pytest.mark.ottla(log_level="debgu")': "--log-level debgu: the levels are trace",
    "@pytest.mark.ottla_topic(3)": "keywords were expected",
    "@pytest.mark.ottla_topic(partition=3)": "no keyword partition; did you mean partitions?",
    "@pytest.mark.ottla_topic(num_partitions=3)": "did you mean partitions?",
    "@pytest.mark.ottla_topic(cleanup_polici=3)": "Unknown topic config name: cleanup.polici",
    "@pytest.mark.ottla_topic(partitions=0)": "INVALID_PARTITIONS",
}


def test_a_mistake_in_a_marker_is_a_line_or_two(pytester: pytest.Pytester) -> None:
    tests = [
        f"{marker}\ndef test_{number}(ottla_broker, ottla_topic):\n    pass\n"
        for number, marker in enumerate(MISTAKES)
    ]
    pytester.makepyfile("\n\n".join(["import pytest", *tests]))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default")
    result.assert_outcomes(errors=len(MISTAKES))
    output = result.stdout.str()
    reports = re.split(r"^_+ ERROR at setup of test_\d+ _+$", output, flags=re.MULTILINE)[1:]
    reports[-1] = reports[-1].partition("\n====")[0]
    for (marker, said), report in zip(MISTAKES.items(), reports, strict=True):
        lines = [line for line in report.splitlines() if line and "is listening on" not in line]
        lines = [line for line in lines if not line.startswith("----")]
        assert said in report, (marker, report)
        assert len(lines) <= 2, (marker, report)


def test_a_marker_without_its_fixture_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.ottla(nodes=2)
        def test_without(ottla):
            assert len(ottla.nodes) == 1

        @pytest.mark.ottla_topic(partitions=3)
        def test_topic(ottla):
            pass

        @pytest.mark.ottla(nodes=2)
        def test_with(ottla_broker):
            assert len(ottla_broker.nodes) == 2

        @pytest.mark.ottla(nodes=2)
        @pytest.mark.ottla_topic(partitions=3)
        def test_dynamic(request):
            request.getfixturevalue("ottla_broker")
            request.getfixturevalue("ottla_topic")

        @pytest.mark.skip
        @pytest.mark.ottla(nodes=2)
        def test_skipped(ottla):
            pass

        @pytest.mark.ottla(nodes=2)
        class TestMany:
            def test_one(self, ottla_broker):
                pass

            def test_two(self):
                pass
        """
    )
    text = passes(pytester, 6)
    for test, marker, fixture in (
        ("test_without", "ottla", "ottla_broker"),
        ("test_topic", "ottla_topic", "ottla_topic"),
    ):
        said = f"{test} has @pytest.mark.{marker}, which changes nothing: {fixture} is not used"
        assert text.count(said) == 1
    assert text.count("which changes nothing") == 2


def test_a_marker_for_the_broker_of_the_session_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.ottla(nodes=2)
        def test_one(ottla_broker):
            pass
        """
    )
    text = passes(pytester, 1, "-o", "ottla_broker_scope=session")
    assert "changes nothing: ottla_broker is that of the session" in text


@pytest.mark.parametrize(
    "option",
    [
        "ottla_nodes=x", "ottla_nodes=0", "ottla_nodes=-1", "ottla_settings=num.partitions",
        "ottla_broker_scope=test", "ottla_as=3.9,3.5",
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_line_before_any_test(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile("def test_one(ottla):\n    pass\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.stderr.str().splitlines() if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"ERROR: {option.partition('=')[0]}"), lines


def test_a_number_of_nodes_on_the_command_line_is_checked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(ottla):\n    pass\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--ottla-nodes", "0")
    assert "ottla_nodes=0: a number from 1 on was expected" in result.stderr.str()
