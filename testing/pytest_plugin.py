"""The pytest plugin: brokers as fixtures, and their logs in the reports of failing tests.

`ottla` is one broker for the session (with xdist, one for each worker); tests use topics of
different names, and `ottla_topic` is a new one. A test that kills, restarts or configures a broker
takes `ottla_broker`, which belongs to this test alone. `pytest_spark.py` has those for Spark.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from . import story_mode

# Every pytest run of every project loads this plugin, so it imports the rest when it is needed.
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from pathlib import Path

    from .broker import Ottla
    from .pytest_support import SessionBroker
    from .stories import Mark

pytest_plugins = ["ottla.testing.pytest_spark"]

_SESSION: Final[pytest.StashKey[SessionBroker]] = pytest.StashKey()
_WAS: Final[pytest.StashKey[tuple[bool, str]]] = pytest.StashKey()
_MARKS: Final[pytest.StashKey[Mapping[Ottla, Mark]]] = pytest.StashKey()
_LOG_SIZES: Final[pytest.StashKey[dict[Ottla, int]]] = pytest.StashKey()
_USED: Final[pytest.StashKey[set[str]]] = pytest.StashKey()
_TOPIC_NAME_LENGTH: Final = 80
_SCOPES: Final = ("function", "class", "module", "package", "session")
_MARKERS: Final = (
    "ottla(settings={}, nodes=1, ...): what ottla_broker is started with; all keywords of"
    " ottla.testing.Ottla, as clock='manual'",
    "ottla_topic(partitions=1, **configs): the partitions and configs of ottla_topic;"
    " an underscore stands for a dot",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings of the ini file."""
    group = parser.getgroup("ottla", "Ottla, a broker for tests")
    group.addoption(
        "--ottla-settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a broker setting of Kafka for all brokers of fixtures; repeatable;"
        " overrides ottla_settings of the ini file",
    )
    group.addoption(
        "--ottla-nodes",
        type=int,
        metavar="N",
        help="nodes of each broker of a fixture (default: ottla_nodes of the ini file, or 1)",
    )
    group.addoption(
        "--ottla-log-level",
        metavar="LEVEL",
        help="what the fixtures' brokers log, as `ottla serve --log-level`: debug,"
        " kafka.request.logger=trace (default: ottla_log_level of the ini file, or info)",
    )
    group.addoption(
        "--ottla-as",
        metavar="RELEASES",
        help="releases of Kafka, as 3.9,4.1,4.4: each test with a broker of a fixture runs once for"
        " each, and the broker answers as that release (default: ottla_as of the ini file)",
    )
    group.addoption(
        "--ottla-trace",
        metavar="WHEN",
        help="on-failure: a failing test leaves its story, a page and a trace, in ottla-report;"
        " always: each test does; off (default: ottla_trace of the ini file, or off)",
    )
    group.addoption(
        "--ottla-report",
        metavar="DIR",
        help="the folder of the stories (default: ottla_report of the ini file, or ottla-report)",
    )
    parser.addini(
        "ottla_trace", "which tests leave their story: on-failure, always, off", default="off"
    )
    parser.addini("ottla_report", "the folder of the stories", default="ottla-report")
    parser.addini("ottla_as", "releases of Kafka to answer as, as 3.9,4.1", default="")
    parser.addini("ottla_log_level", "what the fixtures' brokers log: debug", default="")
    parser.addini("ottla_settings", "broker settings of Kafka, one NAME=VALUE a line", "linelist")
    parser.addini("ottla_nodes", "nodes of each broker of a fixture", default="1")
    parser.addini(
        "ottla_broker_scope",
        "scope of the fixture ottla_broker: function (a fresh broker for each test) or session"
        " (the broker of `ottla`)",
        default="function",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the markers, and check the options. Raises pytest.UsageError."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    _settings(config)
    _nodes(config)
    _releases(config)
    config.stash[_WAS] = (story_mode.is_on, story_mode.folder)
    story_mode.is_on = _trace(config) != "off"
    if story_mode.is_on:
        story_mode.folder = str(_report_folder(config))
    scope = config.getini("ottla_broker_scope")
    if scope not in _SCOPES:
        raise pytest.UsageError(f"ottla_broker_scope={scope}: one of {', '.join(_SCOPES)}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the process as it was, in which another run of pytest may go on."""
    if _WAS in config.stash:
        story_mode.is_on, story_mode.folder = config.stash[_WAS]


def _trace(config: pytest.Config) -> str:
    given = str(config.getoption("--ottla-trace") or config.getini("ottla_trace"))
    if given not in story_mode.MODES:
        raise pytest.UsageError(f"ottla_trace={given}: one of {', '.join(story_mode.MODES)}")
    return given


def _report_folder(config: pytest.Config) -> Path:
    """The folder of the stories, below the directory in which pytest was called."""
    given = str(config.getoption("--ottla-report") or config.getini("ottla_report"))
    return config.invocation_params.dir / given


def _settings(config: pytest.Config) -> Mapping[str, str]:
    pairs = [*config.getini("ottla_settings"), *config.getoption("--ottla-settings")]
    return read_settings("ottla_settings", pairs)


def read_settings(name: str, pairs: Iterable[str]) -> dict[str, str]:
    """The settings in texts NAME=VALUE, by their names. Raises UsageError, which names `name`."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise pytest.UsageError(f"{name}: {pair!r}: NAME=VALUE was expected")
        settings[key.strip()] = value.strip()
    return settings


def _nodes(config: pytest.Config) -> int:
    option = config.getoption("--ottla-nodes")
    given = config.getini("ottla_nodes") if option is None else str(option)
    if not given.isdecimal() or int(given) < 1:
        raise pytest.UsageError(f"ottla_nodes={given}: a number from 1 on was expected")
    return int(given)


def _releases(config: pytest.Config) -> list[str]:
    given = config.getoption("--ottla-as") or config.getini("ottla_as")
    releases = [each.strip() for each in given.split(",") if each.strip()]
    if releases:
        from ..serving.release import check_release

        try:
            for each in releases:
                check_release(each)
        except ValueError as unknown:
            raise pytest.UsageError(f"ottla_as={given}: {unknown}") from None
    return releases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that has a broker of a fixture once for each release of --ottla-as."""
    releases = _releases(metafunc.config) if "ottla_as" in metafunc.fixturenames else []
    if releases:
        metafunc.parametrize(
            "ottla_as", releases, ids=[f"as-{each}" for each in releases],
            indirect=True, scope="session",
        )  # fmt: skip


@pytest.fixture(scope="session")
def ottla_as(request: pytest.FixtureRequest) -> str | None:
    """The release of Kafka that the fixtures' brokers answer as; None for Ottla's own."""
    release: str | None = getattr(request, "param", None)
    return release


@pytest.fixture(scope="session")
def ottla_settings(pytestconfig: pytest.Config) -> Mapping[str, str]:
    """Kafka's broker settings for the fixtures' brokers; override the fixture to change them."""
    return _settings(pytestconfig)


@pytest.fixture(scope="session")
def ottla_nodes(pytestconfig: pytest.Config) -> int:
    """The number of nodes of the fixtures' brokers; override the fixture to change it."""
    return _nodes(pytestconfig)


def _log_level(config: pytest.Config) -> str:
    return str(config.getoption("--ottla-log-level") or config.getini("ottla_log_level"))


@pytest.fixture(scope="session")
def ottla(
    pytestconfig: pytest.Config,
    ottla_settings: Mapping[str, str],
    ottla_nodes: int,
    ottla_as: str | None,
) -> Iterator[Ottla]:
    """The broker of the session; clients connect to `ottla.bootstrap_servers`.

    If a test kills it, a warning names the test, and the broker is started again.
    """
    from .pytest_support import SessionBroker, started

    log_level = _log_level(pytestconfig)
    with started(
        "ottla",
        settings=ottla_settings,
        nodes=ottla_nodes,
        log_level=log_level,
        as_kafka=ottla_as,
    ) as broker:
        known = pytestconfig.stash[_SESSION] = SessionBroker(broker)
        yield broker
        del pytestconfig.stash[_SESSION]
        known.check(os.environ.get("PYTEST_CURRENT_TEST", "the last test").partition(" (")[0])


def _broker_scope(fixture_name: str, config: pytest.Config) -> Any:  # Any: pytest's name of a scope
    return config.getini("ottla_broker_scope")


@pytest.fixture(scope=_broker_scope)
def ottla_broker(
    request: pytest.FixtureRequest,
    ottla_settings: Mapping[str, str],
    ottla_nodes: int,
    ottla_as: str | None,
) -> Iterator[Ottla]:
    """A broker for this test alone.

    `@pytest.mark.ottla(settings={"num.partitions": "3"}, nodes=3)` adds settings.
    """
    if request.scope == "session":
        yield request.getfixturevalue("ottla")
        return
    from .pytest_support import keywords_of, parameters_of_ottla, started

    request.node.stash.setdefault(_USED, set()).add("ottla")
    given = keywords_of(request.node, "ottla", parameters_of_ottla())
    usual = {
        "nodes": ottla_nodes,
        "log_level": _log_level(request.config),
        "as_kafka": ottla_as,
    }
    settings = given.pop("settings", {})
    if isinstance(settings, dict):
        settings = {**ottla_settings, **settings}
    with started("ottla_broker", settings=settings, **{**usual, **given}) as broker:
        yield broker


@pytest.fixture
def ottla_topic(request: pytest.FixtureRequest, ottla_as: str | None) -> str:
    """The name of a new topic on the broker of this test: on `ottla_broker`, or else on `ottla`.

    `@pytest.mark.ottla_topic(partitions=3, cleanup_policy="compact")` sets partitions and configs.
    """
    request.node.stash.setdefault(_USED, set()).add("ottla_topic")
    topic = re.sub(r"[^a-zA-Z0-9-]+", "-", request.node.name)[:_TOPIC_NAME_LENGTH].strip("-")
    topic = f"{topic}-{secrets.token_hex(4)}"
    from .pytest_support import in_few_lines, keywords_of

    given = keywords_of(request.node, "ottla_topic", ["partitions"], takes_others=True)
    partitions = given.pop("partitions", 1)
    configs = {name.replace("_", "."): str(value) for name, value in given.items()}
    names = {"ottla", "ottla_broker"} & set(request.fixturenames) or {"ottla"}
    for broker in {id(each): each for each in map(request.getfixturevalue, names)}.values():
        with in_few_lines("ottla_topic"):
            broker.create_topic(topic, partitions=partitions, configs=configs)
    return topic


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Warn of a marker that changes nothing, because the test does not take its fixture."""
    result = yield
    used = item.stash.get(_USED, set())
    own = {each.name for each in item.own_markers} & {"ottla", "ottla_topic"}
    if own - used:
        from .pytest_support import warn_of_unused_marker

        for name in sorted(own - used):
            warn_of_unused_marker(item, name)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note how long the logs of the running brokers are."""
    testing = sys.modules.get("ottla.testing.broker")
    brokers = () if testing is None else tuple(testing.brokers)
    item.stash[_LOG_SIZES] = {each: each.log_size() for each in brokers}
    if story_mode.is_on:
        from .stories import marks_of

        item.stash[_MARKS] = marks_of(brokers)
    try:
        return (yield)
    finally:
        del item.stash[_LOG_SIZES]
        if _MARKS in item.stash:
            del item.stash[_MARKS]
        if "ottla.testing.broker" in sys.modules:
            from .log_text import forget_closed

            forget_closed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to the report of a failing test all that its brokers have logged since it began."""
    report = yield
    testing = sys.modules.get("ottla.testing.broker")
    if report.failed and testing is not None and _LOG_SIZES in item.stash:
        sizes = item.stash[_LOG_SIZES]
        for broker in list(testing.brokers):
            text = broker.log_since(sizes.get(broker, 0))
            if text.strip() and broker.bootstrap_servers:  # else the error has it
                from .log_text import as_on_a_terminal

                title = f"Ottla's log ({broker.bootstrap_servers})"
                report.sections.append((title, as_on_a_terminal(text)))
            sizes[broker] = broker.log_size()
    if story_mode.is_on and testing is not None and _MARKS in item.stash:
        _tell(item, report)
    return report


def _tell(item: pytest.Item, report: pytest.TestReport) -> None:
    """Leave the story of a test, if it failed or is over and stories are always wanted."""
    is_last = report.when == "call" and _trace(item.config) == "always"
    if not (report.failed or is_last):
        return
    from .broker import brokers
    from .stories import marks_of, stories_since, write_stories

    known = sorted(brokers, key=lambda each: each.bootstrap_servers)
    failure = report.longreprtext if report.failed else None
    stories = stories_since(known, item.stash[_MARKS])
    told = write_stories(stories, _report_folder(item.config), item.nodeid, failure=failure)
    if report.failed:
        report.sections += told.sections
    # The last report of the test has them for JUnit's XML.
    found = [("ottla_report", str(path)) for path in told.paths]
    item.user_properties += [each for each in found if each not in item.user_properties]
    report.user_properties = list(item.user_properties)
    if report.when == "call":
        return
    item.stash[_MARKS] = marks_of(known)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Start the session's broker again if the test left it dead."""
    try:
        return (yield)
    finally:
        known = item.config.stash.get(_SESSION, None)
        if known is not None and "ottla" in getattr(item, "fixturenames", ()):
            known.check(item.nodeid)
