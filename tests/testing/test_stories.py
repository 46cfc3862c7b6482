"""A failing test leaves its story: text in its report, a page and a trace beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.client import Client
from ottla.client.admin.groups import commit_offsets
from ottla.testing import Ottla, story_mode
from ottla.testing.stories import (
    Mark,
    StoryFiles,
    file_name,
    marks_of,
    stories_since,
    write_stories,
    write_story_page,
)

pytest_plugins = ["pytester"]

TESTS = """
    import pytest
    from ottla.testing import Ottla

    def test_fine(ottla, ottla_topic):
        ottla.produce(ottla_topic, ["fine"], transactional_id="of-the-fine-one")

    @pytest.mark.parametrize("name", ["<script>alert(1)</script>/../x", "plain"])
    def test_bad(ottla, ottla_topic, name):
        ottla.produce(ottla_topic, ["lost"], transactional_id="shop-1", commit=False)
        assert ottla.read(ottla_topic), "no record"

    def test_dead(ottla_broker):
        ottla_broker.produce("orders", ["a"])
        ottla_broker.kill()
        raise RuntimeError("after the death")

    def test_with_a_broker_of_its_own():
        with Ottla() as broker:
            broker.produce("orders", ["a"])
            raise RuntimeError("in its body")

    def test_own_trace(ottla_broker):
        ottla_broker.produce("orders", ["before"])
        ottla_broker.trace.start()
        ottla_broker.produce("orders", ["traced"])
        ottla_broker.trace.stop()
        assert len(ottla_broker.trace.where(api="Produce", kind="request")) == 1
        raise RuntimeError("with a trace of its own")
"""


def run_of(pytester: pytest.Pytester, *arguments: str) -> tuple[str, Path]:
    """The output of a run of these tests, and the folder of its stories."""
    pytester.makepyfile(TESTS)
    options = ("-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider")
    result = pytester.runpytest_inprocess(*options, *arguments)
    return result.stdout.str(), pytester.path / "ottla-report"


def test_a_failing_test_leaves_its_story_and_a_passing_one_does_not(
    pytester: pytest.Pytester,
) -> None:
    output, folder = run_of(pytester, "--ottla-trace", "on-failure", "--junitxml", "j.xml")
    pages = {path.name for path in folder.glob("*.html")}
    assert len(pages) == 5
    assert not any("fine" in name for name in pages)
    assert "Ottla's last requests" in output
    assert "EndTxn abort" in output
    for page in folder.glob("*.html"):
        trace = page.with_suffix(".trace.jsonl")
        assert f"open {page} (trace: {trace})" in output
        lines = [json.loads(line) for line in trace.read_text().splitlines()]
        assert [each["seq"] for each in lines] == sorted({each["seq"] for each in lines})
        assert "of-the-fine-one" not in trace.read_text()
        assert "<script>alert(1)" not in page.read_text()
    suite = ElementTree.parse(pytester.path / "j.xml")  # written by this test
    named = {each.get("value") for each in suite.iter("property")}
    assert named == {str(path) for path in folder.iterdir()}


def test_a_story_of_a_broker_that_died_and_one_beside_a_trace_of_the_test(
    pytester: pytest.Pytester,
) -> None:
    output, folder = run_of(pytester, "--ottla-trace", "on-failure", "-k", "dead or own_trace")
    assert "AssertionError" not in output  # the trace of the test has its own request alone
    (dead,) = folder.glob("*test_dead*.trace.jsonl")
    assert '"api": "Produce"' in dead.read_text()
    (own,) = folder.glob("*test_own*.trace.jsonl")
    requests = [json.loads(line) for line in own.read_text().splitlines()]
    assert sum(each["kind"] == "request" and each["api"] == "Produce" for each in requests) == 2


def test_without_the_option_nothing_is_traced_or_written(pytester: pytest.Pytester) -> None:
    output, folder = run_of(pytester, "-k", "plain")
    assert "no record" in output
    assert "Ottla's story" not in output
    assert not folder.exists()


def test_all_tests_leave_their_stories_in_the_folder_that_is_given(
    pytester: pytest.Pytester,
) -> None:
    run_of(pytester, "--ottla-trace", "always", "--ottla-report", "there", "-k", "fine")
    assert len(list((pytester.path / "there").glob("*test_fine*.html"))) == 1
    assert not story_mode.is_on  # this process goes on without


def test_pages_that_no_report_writes_go_into_the_folder_that_is_given(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        from pathlib import Path
        from ottla.testing import story_mode

        def test_it():
            assert Path(story_mode.folder) == Path("there").absolute()
    """)
    options = ("-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider")
    given = ("--ottla-trace", "on-failure", "--ottla-report", "there")
    pytester.runpytest_inprocess(*options, *given).assert_outcomes(passed=1)
    assert story_mode.folder == "ottla-report"


def test_a_wrong_value_of_the_option_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("--ottla-trace", "sometimes")
    result.stderr.fnmatch_lines(["ERROR: ottla_trace=sometimes: one of off, on-failure, always"])


def test_a_failing_unittest_leaves_its_story(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import unittest
from ottla.testing import OttlaTestMixin

class TestIt(OttlaTestMixin, unittest.TestCase):
    ottla_trace = "on-failure"

    def test_it(self):
        self.ottla.produce("orders", ["a"])
        self.fail("on purpose")
""")
    command = [sys.executable, "-m", "unittest", "test_it"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    (page,) = (tmp_path / "ottla-report").glob("*.html")
    assert page.name == "test_it.TestIt.test_it.html"
    assert f"open {page} (trace: " in done.stderr
    assert "Produce v" in done.stderr


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("test_plain", "test_plain"),
        ("a/b.py::test_x[<i>\x1b]", "a-b.py-test_x-i-"),
        ("../../etc/passwd", "etc-passwd-"),
        ("x" * 300, "x" * 100 + "-"),
        ("\udcff", "-"),
    ],
)
def test_the_name_of_a_file_is_harmless(test: str, name: str) -> None:
    found = file_name(test)
    assert found.startswith(name)
    assert len(found) <= 109
    assert not set("/<>\x1b\udcff") & set(found)


def test_tests_with_similar_names_have_files_of_their_own() -> None:
    assert file_name("test[a/b]") != file_name("test[a-b]")


def test_a_line_that_is_cut_is_left_out_and_numbers_go_on_over_starts(tmp_path: Path) -> None:
    files = StoryFiles(tmp_path)
    files.begin().write_text('{"seq": 1, "kind": "x"}\n{"seq": 2, "kind": "x", "cause": 1}\n{"se')
    assert files.mark() == Mark(1, 2)
    files.begin().write_text('{"seq": 1, "kind": "x"}\n{"seq": 2, "kind": "x", "cause": 1}\n')
    assert [(each["seq"], each.get("cause")) for each in files.since(Mark(1, 1))] == [
        (2, 1), (3, None), (4, 3),
    ]  # fmt: skip


def test_the_sections_of_a_report_have_nothing_that_a_terminal_obeys() -> None:
    made = Ottla()
    made.tells_stories = True
    with made as broker:
        marks = marks_of([broker])
        for _ in range(2):
            broker.produce("orders", ["a"], transactional_id="shop\x1b[2J\nforged", commit=False)
        (story,) = stories_since([broker], marks)
    sections = dict(story.sections())
    assert len(sections) == 3
    for text in sections.values():
        assert "shop\\x1b[2J\\nforged" in text
        assert "\x1b" not in text
        assert "\nforged" not in text


def test_a_story_that_cannot_be_written_is_said_and_hides_no_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    made = Ottla()
    made.tells_stories = True
    with made as broker:
        marks = marks_of([broker])
        broker.produce("orders", ["a"])
        stories = stories_since([broker], marks)
    told = write_stories(stories, tmp_path / "taken", "test_it")
    assert told.paths == []
    assert told.sections[-1][1].startswith("the story cannot be written: ")


def test_a_file_of_a_trace_is_turned_over_at_its_size(tmp_path: Path) -> None:
    with Ottla() as broker:
        file = tmp_path / "t.jsonl"
        body = {"file": str(file), "file_bytes": 5000}
        broker.lab().call("POST", "/trace", body)
        for _ in range(10):
            broker.produce("orders", ["a"])
        before = tmp_path / "t.jsonl.before"
        newest = broker.lab().call("POST", "/trace", {"on": False})["last"]
        assert max(file.stat().st_size, before.stat().st_size) < 15_000
        assert sorted(path.name for path in tmp_path.iterdir()) == ["t.jsonl", "t.jsonl.before"]
        seqs = [
            json.loads(line)["seq"]
            for path in (before, file)
            for line in path.read_text().splitlines()
        ]
        assert seqs == list(range(seqs[0], newest + 1))


def test_behind_a_file_that_was_just_turned_over_the_mark_is_that_of_the_one_before(
    tmp_path: Path,
) -> None:
    files = StoryFiles(tmp_path)
    file = files.begin()
    file.write_text("")
    file.with_name(f"{file.name}.before").write_text('{"seq": 7, "kind": "x"}\n')
    assert files.mark() == Mark(1, 7)
    assert files.since(files.mark()) == []


def test_a_broker_that_is_closed_and_started_again_has_one_story(tmp_path: Path) -> None:
    made = Ottla()
    made.tells_stories = True
    made.start()
    marks = marks_of([made])
    try:
        made.produce("first", ["a"])
        with Client.to(made.bootstrap_servers) as client:
            commit_offsets(client, "g", {("first", 0): 1})
        made.close()
        made.start()
        made.produce("second", ["b"])
        (story,) = stories_since([made], marks)
    finally:
        made.close()
    texts = [json.dumps(line) for line in story.lines]
    named = [
        next(number for number, text in enumerate(texts) if f'"{topic}"' in text)
        for topic in ("first", "second")
    ]
    assert named == sorted(named)
    page = tmp_path / "page.html"
    write_story_page(made, Mark(), page, title="both starts")  # also when it is closed
    assert "<title>both starts</title>" in page.read_text()
    titles = [title.partition(" (")[0] for title, _ in story.sections()]
    assert titles == ["Ottla's last requests", "Ottla's groups"]
    assert [each["seq"] for each in story.lines] == sorted({each["seq"] for each in story.lines})


def test_brokers_of_earlier_tests_are_let_go_of(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from ottla.testing.broker import brokers

        known = set(brokers)

        @pytest.mark.parametrize("number", range(3))
        def test_it(ottla_broker, number):
            ottla_broker.produce("orders", ["a"])
            assert set(brokers) - known == {ottla_broker}
            assert number != 1
    """)
    options = ("-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider")
    result = pytester.runpytest_inprocess(*options, "--ottla-trace", "on-failure")
    result.assert_outcomes(passed=2, failed=1)
    assert len(list((pytester.path / "ottla-report").glob("*.html"))) == 1
