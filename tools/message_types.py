"""Stubs with the types of all messages and records, from the schemas that the codec reads.

`make message-types` writes them to `protocol/api_types/`. A request or a record that is read is a
Protocol. The top fields of a request may be assigned, because guards narrow requests; most others
are read-only. A response or a record that is written is a TypedDict, because the codec takes dicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from ottla.broker.requests.api import Served
from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol import api_types, codec
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schemas import DIRECTORY

FOLDER: Final = Path(str(api_types.__file__)).parent
_ROOT: Final = Path(__file__).parent.parent
RECORDS: Final = "records"
ANSWERS: Final = "answers"
SENT: Final = frozenset({ApiKey.WRITE_TXN_MARKERS})
"""The APIs whose requests a broker also sends, and whose responses it also reads."""

_NUMBERS: Final = dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), "int")
_SIMPLE: Final = {
    **_NUMBERS,
    **{"float64": "float", "bool": "bool", "string": "str", "bytes": "bytes"},
    "uuid": "UUID | None",  # the codec has None for the id that is zero
}
_READ: Final = {**_SIMPLE, "records": "Bytes", "bitfield": "int"}
# Records of a Fetch answer may be in their file until they are sent.
_WRITTEN: Final = {**_SIMPLE, "records": "Bytes | Unread", "bitfield": "frozenset[int] | None"}
_MODULES: Final = {
    "Sequence": "collections.abc",
    **dict.fromkeys(
        ("Any", "Literal", "NotRequired", "Protocol", "TypedDict", "overload"), "typing"
    ),
    "UUID": "uuid",
    "Bytes": "..batch",
    "Unread": "..fetch_answer",
}
_WIDTH: Final = 100
_NARROWED: Final = frozenset({"OffsetFetchRequestGroup"})
"""The structs in requests of which a guard assigns fields."""
_OPTIONAL_AT_TOP: Final = frozenset({"throttle_time_ms", "error_code"})  # no delay and no error


Versions: TypeAlias = tuple[int, int]
"""The lowest and the highest."""


class Message(NamedTuple):
    """One direction of a message.

    Attributes:
        name: of the class, as in Kafka's schema; `prefix` and `suffix` go around all names.
        struct: the codec's schema object.
        versions: those that are read or written.
        read: whether the codec decodes it, else it encodes it.
        narrowed: whether its top fields may be assigned.
    """

    name: str
    struct: Any
    versions: Versions
    read: bool
    narrowed: bool = False
    prefix: str = ""
    suffix: str = ""


def stubs() -> dict[str, str]:
    """The texts of all stubs, by the name of their file."""
    made = {f"{key.name.lower()}.pyi": _api(key, HANDLERS[key]) for key in HANDLERS}
    made[f"{RECORDS}.pyi"] = _records()
    made[f"{ANSWERS}.pyi"] = _answers()
    return made


def _api(api_key: ApiKey, served: Served) -> str:
    lowest = max(served.lowest, served.closed_below)
    versions = (lowest, max(served.highest, served.highest_unstable))
    name = codec.api_name(api_key)
    request = codec.message_class(api_key, "Request")._struct
    response = codec.message_class(api_key, "Response")._struct
    messages = [
        Message(f"{name}Request", request, versions, read=True, narrowed=True),
        Message(f"{name}Response", response, versions, read=False),
    ]
    if api_key in SENT:
        messages += [
            Message(f"{name}Request", request, versions, read=False, suffix="Fields"),
            Message(f"{name}Response", response, versions, read=True, prefix="Received"),
        ]
    return _stub(f"{name} ({api_key.value}), versions {lowest}-{versions[1]}", messages)


def _records() -> str:
    classes = {path.stem: codec.data_class(path.stem) for path in Path(DIRECTORY).glob("*.json")}
    names = sorted(
        name
        for name, cls in classes.items()
        if cls._struct.fields and not name.endswith(("Request", "Response", "Header"))
    )
    messages = []
    for name in names:
        cls = classes[name]
        messages.append(Message(name, cls._struct, cls.valid_versions, read=True))
        written = Message(name, cls._struct, cls.valid_versions, read=False, suffix="Fields")
        messages.append(written)
    code = _code()
    overloads = {f'"{name}"': name for name in names if f'"{name}"' in code}
    text = _overloaded("DecodeData", "str", ["data: Bytes"], overloads)
    title = "Keys and values of records, and the consumer protocol"
    return _stub(title, messages, text, named=frozenset(re.findall(r"\w+", code)))


def _code() -> str:
    """All Python code of the rooms and their tests: only the records that it names get types."""
    folders = sorted(each for each in _ROOT.iterdir() if each.is_dir() and each.name[0] != ".")
    paths = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    return "\n".join(path.read_text() for path in paths)


def _answers() -> str:
    keys = sorted(SENT, key=lambda key: key.name)
    names = {key: f"Received{codec.api_name(key)}Response" for key in keys}
    imports = {f".{key.name.lower()}": name for key, name in names.items()}
    overloads = {f"ApiKey.{key.name}": name for key, name in names.items()}
    others = ["version: int", "correlation_id: int", "frame: bytes"]
    text = _overloaded("ReadAnswer", "ApiKey", others, overloads)
    modules = {"..api_keys": "ApiKey", **imports}
    lines = [f"from {module} import {name}" for module, name in modules.items()]
    title = '"""The types of answers that are read; made by `make message-types`."""'
    own = "from typing import Any, Literal, Protocol, overload"
    return "\n\n".join((title, own, "\n".join(lines), text))


def _overloaded(name: str, first: str, others: Sequence[str], overloads: Mapping[str, str]) -> str:
    """The class of a function whose first argument, if it is a literal, names the result's type.

    Args:
        first: the type of the first argument.
        others: the other parameters, with their types.
        overloads: the type of the result by the first argument.
    """
    lines = [f"class {name}(Protocol):"]
    for literal, result in overloads.items():
        parameters = ["self", f"key: Literal[{literal}]", *others, "/"]
        lines += ["    @overload", *_call(parameters, result)]
    lines += ["    @overload", *_call(["self", f"key: {first}", *others, "/"], "Any")]
    return "\n".join(lines) + "\n"


def _call(parameters: Sequence[str], result: str) -> list[str]:
    """The lines of a `__call__`, split as ruff formats them."""
    listed = ", ".join(parameters)
    whole = f"    def __call__({listed}) -> {result}: ..."
    if len(whole) <= _WIDTH:
        return [whole]
    fits = len(listed) + 8 <= _WIDTH
    split = [f"        {listed}"] if fits else [f"        {each}," for each in parameters]
    return ["    def __call__(", *split, f"    ) -> {result}: ..."]


def _stub(
    title: str,
    messages: list[Message],
    overloaded: str = "",
    named: frozenset[str] | None = None,
) -> str:
    """The text of a stub.

    Args:
        named: only these classes, and those that they refer to; None: all.
    """
    classes = _Classes(messages)
    for message in messages:
        classes.add(message, message.name, message.struct, message.versions)
    made = {name: "\n".join(lines) for name, lines in classes.by_name.items()}
    if named is not None:
        made = _referred_to(made, set(named) | set(re.findall(r"\w+", overloaded)))
    text = "\n\n".join(made.values()) + "\n"
    if overloaded:
        text += "\n" + overloaded
    words = set(re.findall(r"\w+", re.sub(r"#.*", "", text)))
    imported: dict[str, list[str]] = {}
    for name in sorted(words & _MODULES.keys()):
        imported.setdefault(_MODULES[name], []).append(name)
    lines = {
        module: f"from {module} import {', '.join(names)}" for module, names in imported.items()
    }
    groups = [
        "\n".join(lines[module] for module in sorted(lines) if module.startswith(".") is ours)
        for ours in (False, True)
    ]
    title = f'"""{title}; made by `make message-types`."""'
    return "\n\n".join(part for part in (title, *groups, text) if part)


def _referred_to(made: Mapping[str, str], names: set[str]) -> dict[str, str]:
    """The classes of these names, and those that they refer to."""
    kept: set[str] = set()
    while more := (made.keys() & names) - kept:
        kept |= more
        names = {word for name in more for word in re.findall(r"\w+", made[name])}
    return {name: text for name, text in made.items() if name in kept}


def _ambiguous(messages: list[Message]) -> set[str]:
    """The names under which the messages of a file have structs that differ."""
    found: dict[str, list[object]] = {}
    for message in messages:
        for name, fields in _structs(message.struct):
            if not message.prefix and not message.suffix:  # the others have the same structs
                found.setdefault(name, []).append((message.read, fields))
    return {name for name, structs in found.items() if any(each != structs[0] for each in structs)}


def _structs(struct: Any) -> Iterator[tuple[str, object]]:
    for field in struct.fields.values():
        if _is_struct(field):
            named = [(each.name, each.type_str, each.min_version) for each in field.fields.values()]
            yield field.type_str, named
            yield from _structs(field)


class _Classes:
    """The classes of a stub.

    Attributes:
        by_name: the lines of each, in the order of the file.
    """

    def __init__(self, messages: list[Message]) -> None:
        self.by_name: dict[str, list[str]] = {}
        self._ambiguous = _ambiguous(messages)

    def add(self, message: Message, name: str, struct: Any, versions: Versions) -> str:
        """Add the class of a struct behind those of the structs in it; its name."""
        name = f"{message.prefix}{name}{message.suffix}"
        lines = [f"class {name}({'Protocol' if message.read else 'TypedDict'}):"]
        is_top = struct is message.struct
        for field in struct.fields.values():
            served = _common(field, versions)
            if served is None:
                continue
            text = self._type(message, field, served)
            if _is_nullable(field, served, versions) and not text.endswith("None"):
                text += " | None"
            note = "" if served == versions else f"  # {_version_note(served, versions)}"
            is_narrowed = name in _NARROWED or (message.narrowed and is_top)
            if message.read and not is_narrowed:
                lines += ["    @property", *_read_only(field.name, text, note)]
                continue
            is_optional = is_top and field.name in _OPTIONAL_AT_TOP
            if not message.read and (is_optional or not _is_required(field, served, versions)):
                text = f"NotRequired[{text}]"
            lines += _assigned(field.name, text, note)
        if len(lines) == 1:
            lines[0] += " ..."
        assert self.by_name.setdefault(name, lines) == lines, f"two structs are named {name}"
        return name

    def _type(self, message: Message, field: Any, served: Versions) -> str:
        """The type of a field without null."""
        text: str = field.type_str
        if _is_struct(field):
            inner = message.name + text if text in self._ambiguous else text
            text = self.add(message, inner, field, served)
        else:
            simple = field.element_type or text
            text = (_READ if message.read else _WRITTEN)[simple]
        if field.is_array():
            text = f"Sequence[{text}]" if message.read else f"list[{text}]"
        return text


def _read_only(name: str, text: str, note: str) -> list[str]:
    line = f"    def {name}(self) -> {text}: ...{note}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"    def {name}(", "        self,", f"    ) -> {text}: ...{note}"]


def _assigned(name: str, text: str, note: str) -> list[str]:
    line = f"    {name}: {text}{note}"
    if len(line) <= _WIDTH:
        return [line]
    outer, _, inner = text.partition("[")
    return [f"    {name}: {outer}[", f"        {inner.removesuffix(']')}", f"    ]{note}"]


def _is_struct(field: Any) -> bool:
    return bool(field.is_struct() or field.is_struct_array())


def _common(field: Any, versions: Versions) -> Versions | None:
    """The versions that have a field, of those that its struct has."""
    lowest, highest = max(field.min_version, versions[0]), min(field.max_version, versions[1])
    return (lowest, highest) if lowest <= highest else None


def _version_note(served: Versions, versions: Versions) -> str:
    lowest, highest = served
    if lowest == highest:
        return str(lowest)
    return f"{lowest}+" if highest == versions[1] else f"{lowest}-{highest}"


def _is_nullable(field: Any, served: Versions, versions: Versions) -> bool:
    """Whether a version allows null, or has no such field, which then is its default."""
    if any(map(field.nullable_for_version_q, range(served[0], served[1] + 1))):
        return True
    if field.is_struct():
        return field.tag is not None
    return served != versions and field.default is None


def _is_required(field: Any, served: Versions, versions: Versions) -> bool:
    """Whether a dict without a field is an error, rather than one that means the default."""
    return not (
        field.has_default
        or field.tag is not None
        or served != versions
        or _is_nullable(field, served, versions)
    )


def write(made: Mapping[str, str], folder: Path) -> None:
    """Write stubs, and remove those of APIs that are gone."""
    for path in folder.glob("*.pyi"):
        path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write(stubs(), FOLDER)
