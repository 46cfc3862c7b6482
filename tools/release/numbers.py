"""The number of a release, and the tags of its image: which of them move, and when."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent.parent
OF_OTTLA: Final = "src/ottla/__init__.py"
OF_KAFKA: Final = "kafka_tools/options.py"
# Confluent's platform 8.x has Kafka 4.x.
_CONFLUENT_AHEAD: Final = 4
Rank = tuple[int, int, int, int, str, int]
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?")


class WrongRelease(Exception):
    """A release that must not be made, with the reason."""


class Release(NamedTuple):
    """A release of Ottla, with the Kafka that it implements.

    Attributes:
        version: 0.1.0, or 0.2.0rc1 before 0.2.0.
        kafka: 4.4.0.
    """

    version: str
    kafka: str

    @property
    def is_final(self) -> bool:
        """Whether it is no version before a release, such as 0.2.0rc1."""
        return rank(self.version)[3] == 1


def rank(version: str) -> Rank:
    """What orders versions, as PEP 440 does: 0.2.0rc1 comes before 0.2.0.

    Raises:
        WrongRelease: it is no version of a release.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise WrongRelease(f"{version} is no version such as 0.1.0 or 0.2.0rc1")
    major, minor, patch, phase, number = match.groups()
    return (int(major), int(minor), int(patch), int(phase is None), phase or "", int(number or 0))


def version() -> str:
    """The version of the sources."""
    return _found(r'__version__ = "([^"]+)"', (ROOT / OF_OTTLA).read_text())


def kafka_version() -> str:
    """The release of Kafka that is the specification."""
    return _kafka((ROOT / OF_KAFKA).read_text())


def _kafka(source: str) -> str:
    return _found(r'VERSION: Final = "([^"]+)"', source)


def _found(pattern: str, source: str) -> str:
    match = re.search(pattern, source)
    if match is None:
        raise WrongRelease(f"no line is {pattern}")
    return match.group(1)


def version_of(tag: str, *, changelog: str) -> str:
    """The version of a tag of git.

    Raises:
        WrongRelease: the tag is not that of the sources, or the changelog has no such version.
    """
    if tag != f"v{version()}":
        raise WrongRelease(f"the tag is {tag}, and the version of the sources is {version()}")
    notes_of(version(), changelog=changelog)
    return version()


def notes_of(version: str, *, changelog: str) -> str:
    """The section of a version in the changelog, without its heading.

    Raises:
        WrongRelease: there is none, or it is empty.
    """
    _, found, rest = changelog.partition(f"\n## [{version}]")
    notes = re.split(r"^## ", rest.partition("\n")[2], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not found or not notes:
        raise WrongRelease(f"CHANGELOG.md has no section [{version}]")
    return notes


def released(repository: Path = ROOT) -> list[Release]:
    """The releases that tags of git name, in any order.

    Raises:
        WrongRelease: a tag is no version, or its sources do not say which Kafka they implement.
    """
    tags = _git(repository, "tag", "--list", "v*").split()
    return [
        Release(tag[1:], _kafka(_git(repository, "show", f"{tag}:{OF_KAFKA}")))
        for tag in sorted(tags, key=lambda tag: rank(tag[1:]))
    ]


def _git(repository: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise WrongRelease(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def image_tags(made: Release, known: Sequence[Release]) -> list[str]:
    """The tags that an image gets: Ottla's number, which never moves, then those that follow.

    A tag moves forward alone: a release of an older line leaves what a newer one has. A version
    before a release, such as 0.2.0rc1, gets its own number only. All but `latest` are versions by
    PEP 440, which Python's testcontainers ask for.

    Args:
        made: the release.
        known: all releases; whether it is among them makes no difference.

    Raises:
        WrongRelease: Ottla's number is also one of Kafka's or Confluent's: a tag means one thing.
    """
    following = _following(made)
    names = [made.version, *(tag for tag, _ in following)]
    if len(set(names)) < len(names):
        raise WrongRelease(f"a tag would have two meanings: {', '.join(names)}")
    if not made.is_final:
        return [made.version]
    others = [_following(each) for each in known if each.is_final]
    return [
        made.version,
        *(
            tag
            for tag, place in following
            if all(other <= place for each in others for name, other in each if name == tag)
        ),
    ]


def _following(release: Release) -> list[tuple[str, tuple[Rank, Rank]]]:
    """The tags that may follow a release, each with its place among the releases that it names."""
    major, minor, patch = release.kafka.split(".")
    confluent = f"{int(major) + _CONFLUENT_AHEAD}.{minor}"
    of_ottla = (rank(release.version), rank(release.version))
    of_kafka = (rank(release.kafka), rank(release.version))
    tags_of_kafka = (release.kafka, f"{major}.{minor}", f"{confluent}.{patch}", confluent)
    return [
        (release.version.rpartition(".")[0], of_ottla),
        *((tag, of_kafka) for tag in tags_of_kafka),
        ("latest", of_ottla),
    ]
