"""Commands of the workflow of releases, and of the Makefile.

    python -m tools.release names v0.1.0 [--image NAME]   version, tags, notes, as outputs of a step
    python -m tools.release base                          the digest of the base image, likewise
    python -m tools.release check [--keep DIR]            build, install, list, sum, sign, verify
    python -m tools.release published 0.1.0               try what PyPI has
    python -m tools.release locks                         write the hashes of the image's wheels
    python -m tools.release zipapp [--extras NAMES]       write dist/ottla.pyz

`names` and `base` need Python and git or docker alone. `check` needs git, openssl and uv, and
packages from PyPI; it works in a clone and in empty directories, as a user would.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from . import numbers, one_file, packages, sources
from .numbers import ROOT, Release, WrongRelease
from .programs import say

# Ends a value of several lines in the file of a step's outputs; no changelog has such a line.
_END = "END-OF-THE-VALUE"


def outputs_of_names(tag: str, *, image: str, changelog: str, known: Sequence[Release]) -> str:
    """The outputs of a step for GitHub: version, tags, references, latest, prerelease, notes.

    Args:
        tag: of git.
        image: the name of the image, in any case; registries take lower case only.
        changelog: its text.
        known: all releases.

    Raises:
        WrongRelease: the tag is not that of the sources, or the changelog has no such version.
    """
    version = numbers.version_of(tag, changelog=changelog)
    made = Release(version, numbers.kafka_version())
    tags = numbers.image_tags(made, known)
    return "\n".join(
        (
            f"version={version}",
            f"latest={str('latest' in tags).lower()}",
            f"prerelease={str(not made.is_final).lower()}",
            f"tags={' '.join(tags)}",
            f"image={image.lower()}",
            *(f"references<<{_END}", *(f"{image.lower()}:{each}" for each in tags), _END),
            *(f"notes<<{_END}", numbers.notes_of(version, changelog=changelog), _END),
        )
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "tools.release", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    named = commands.add_parser("names", help="print the version and the tags of the image")
    named.add_argument("tag", help="of git: v0.1.0")
    named.add_argument("--image", default="ottla", help="its name in a registry")
    commands.add_parser("base", help="print the digest of the base image")
    checked = commands.add_parser("check", help="make the files of a release, and try them")
    checked.add_argument("--keep", type=Path, metavar="DIR", help="leave the files there")
    published = commands.add_parser("published", help="try the release that PyPI has")
    published.add_argument("version")
    commands.add_parser("locks", help="write the hashes of the image's wheels")
    single = commands.add_parser("zipapp", help="write one file that runs as a command")
    single.add_argument("--extras", default="", metavar="NAMES", help="separated by commas")
    single.add_argument("--output", type=Path, default=ROOT / "dist/ottla.pyz", metavar="FILE")
    given = parser.parse_args(words)
    try:
        _run(given)
    except WrongRelease as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 1
    return 0


def _run(given: argparse.Namespace) -> None:
    match given.command:
        case "names":
            changelog = (ROOT / "CHANGELOG.md").read_text()
            say(outputs_of_names(
                given.tag, image=given.image, changelog=changelog, known=numbers.released()
            ))  # fmt: skip
        case "base":
            say(f"base={sources.base_image()}")
            say(f"digest={sources.digest_of(sources.base_image())}")
        case "check" if given.keep is not None:
            given.keep.mkdir(parents=True, exist_ok=True)
            packages.check(given.keep.absolute())
        case "check":
            with TemporaryDirectory() as directory:
                packages.check(Path(directory))
        case "published":
            packages.try_published(given.version)
        case "locks":
            sources.write_locks()
        case "zipapp":
            one_file.make(given.output, extras=given.extras)


if __name__ == "__main__":
    sys.exit(main())
