"""kafka-python's protocol classes, one API at a time and at first use.

The library compiles a coder for a message and version when it is first asked for one; making all
classes at start would cost a broker more than everything else it does then. `import_alone` also
keeps the library's clients out of a process that is a broker only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Final

from .api_keys import ApiKey
from .decoding import Decoder, compiled

_PACKAGES: Final[dict[str, tuple[str, ...]]] = {
    "kafka.protocol.metadata": ("Metadata", "FindCoordinator", "ApiVersions"),
    "kafka.protocol.producer": (
        "Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
        "TxnOffsetCommit",
    ),
    "kafka.protocol.consumer": (
        "Fetch", "ListOffsets", "OffsetCommit", "OffsetFetch", "JoinGroup", "Heartbeat",
        "LeaveGroup", "SyncGroup", "OffsetForLeaderEpoch", "OffsetDelete",
    ),
}  # fmt: skip
_PACKAGE_OF: Final = {name: package for package, names in _PACKAGES.items() for name in names}
_OTHERWISE: Final = "kafka.protocol.admin"


def import_alone() -> None:
    """Import the codec without the clients of its package: for a process that is a broker only.

    `import kafka` loads every client of kafka-python (100 ms, 12 MB). An empty package in its place
    lets `kafka.protocol` be imported by itself. Does nothing when `kafka` is there already.
    """
    if "kafka" in sys.modules:
        return
    spec = PathFinder.find_spec("kafka")
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError("the package kafka-python is not installed")
    package = ModuleType("kafka")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["kafka"] = package


def api_name(api_key: ApiKey) -> str:
    """The API's name as Kafka spells it: `ApiKey.ADD_PARTITIONS_TO_TXN` is `AddPartitionsToTxn`."""
    return "".join(word.capitalize() for word in api_key.name.split("_"))


def message_class(api_key: ApiKey, kind: str) -> Any:
    """The codec's class for an API; kind is `Request` or `Response`."""
    name = api_name(api_key)
    module = import_module(_PACKAGE_OF.get(name, _OTHERWISE))
    try:
        return getattr(module, name + kind)
    except AttributeError:
        return _own_class(name + kind)


def decoder(cls: Any, version: int) -> Decoder:
    """The compiled function (data, position) -> (message, position behind it)."""
    return compiled(cls._struct, version, cls, flexible=cls.flexible_version_q(version))


def encoder(cls: Any, version: int) -> Callable[[Any, Any], None]:
    """The compiled function (message, EncodeBuffer) -> None."""
    flexible = cls.flexible_version_q(version)
    function: Callable[[Any, Any], None] = cls._struct.compiled_encode_into(
        version, compact=flexible, tagged=flexible
    )
    return function


_own: dict[str, Any] = {}


def _own_class(name: str) -> Any:
    """A class for an API of which the library has the schema only, or not even that."""
    if name not in _own:
        from kafka.protocol.api_message import ApiMessage

        from . import schemas

        meta: Any = type(ApiMessage)
        try:
            _own[name] = meta(name, (ApiMessage,), {})
        except FileNotFoundError:
            _own[name] = meta(name, (ApiMessage,), {}, load_json=schemas)
    return _own[name]


def data_class(name: str) -> Any:
    """The class of a record's key or value, from `schemas/NAME.json`; made once.

    Raises:
        FileNotFoundError: there is no such schema.
    """
    if name not in _own:
        from kafka.protocol.api_data import ApiData

        from . import schemas

        meta: Any = type(ApiData)
        _own[name] = meta(name, (ApiData,), {}, load_json=schemas)
    return _own[name]
