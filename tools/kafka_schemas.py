"""Takes Kafka's schemas of messages and records from the jars of a release, by Maven.

`make schemas KAFKA=4.4.0` writes them to `protocol/schemas/`, a file each with a line for each
field, without comments and descriptions, so that `git diff` shows what a release changes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zipfile import ZipFile

from ottla.protocol.schemas import DIRECTORY

FOLDER: Final = Path(DIRECTORY)
JARS: Final = (
    "kafka-clients", "kafka-group-coordinator", "kafka-metadata", "kafka-share-coordinator",
    "kafka-transaction-coordinator",
)  # fmt: skip
_MAVEN_TIMEOUT_S: Final = 600
_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_NOTICE: Final = """\
The schemas in this folder are those of Apache Kafka {release}, without comments and descriptions,
in another format. They are licensed to the Apache Software Foundation (ASF) under one or more
contributor license agreements. The ASF licenses them under the Apache License, Version 2.0; see
http://www.apache.org/licenses/LICENSE-2.0. The notice of Apache Kafka says:

"""

Schema = dict[str, Any]


def main(release: str) -> None:
    """Replace all schemas by those of a release."""
    with TemporaryDirectory() as directory:
        jars = [_jar(name, release, directory) for name in JARS]
        texts = dict(each for jar in jars for each in _texts(jar))
        with ZipFile(jars[0]) as clients:
            notice = clients.read("NOTICE").decode()
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, text in texts.items():
        (FOLDER / f"{name}.json").write_text(text)
    (FOLDER / "NOTICE").write_text(_NOTICE.format(release=release) + notice)
    print(f"{len(texts)} schemas of Kafka {release}")  # noqa: T201


def _jar(name: str, release: str, directory: str) -> Path:
    options = (f"-Dartifact=org.apache.kafka:{name}:{release}", f"-DoutputDirectory={directory}")
    command = ["mvn", "-B", "-q", "-Dstyle.color=never", "dependency:copy"]
    subprocess.run([*command, *options], check=True, timeout=_MAVEN_TIMEOUT_S)
    return Path(directory) / f"{name}-{release}.jar"


def _texts(jar: Path) -> Iterator[tuple[str, str]]:
    """The name and the new text of each schema that clients, brokers or their logs use."""
    with ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"common/(message|metadata)/\w+\.json", name):
                schema = json.loads(_COMMENT.sub("", archive.read(name).decode()))
                if _is_used(schema, archive):
                    yield schema["name"], text_of(schema)


def _is_used(schema: Schema, archive: ZipFile) -> bool:
    """Whether some version exists, and not only controllers have it."""
    if schema["validVersions"] == "none":
        return False
    if schema["type"] == "response":
        request = f"common/message/{schema['name'].removesuffix('Response')}Request.json"
        schema = json.loads(_COMMENT.sub("", archive.read(request).decode()))
    return schema.get("listeners") != ["controller"]


def text_of(schema: Schema) -> str:
    """A schema as JSON, with a line for each field."""
    lists = ("fields", "commonStructs")
    lines = [f" {_pair(name, value)}" for name, value in schema.items() if name not in lists]
    lines += [f' "{name}": {_list(schema[name], "  ")}' for name in lists if name in schema]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _list(fields: list[Schema], indent: str) -> str:
    return "[\n" + ",\n".join(indent + _field(each, indent) for each in fields) + "]"


def _field(field: Schema, indent: str) -> str:
    pairs = [_pair(*each) for each in field.items() if each[0] not in ("about", "fields")]
    if "fields" in field:
        pairs.append(f'"fields": {_list(field["fields"], indent + " ")}')
    return "{" + ", ".join(pairs) + "}"


def _pair(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value)}"


if __name__ == "__main__":
    main(*sys.argv[1:])
