"""kafka-python's schemas and objects, loaded beside the package `kafka`.

`import kafka` loads every client of the library (100 ms, 12 MB), and a part of it in `sys.modules`
would be in the way of a program that imports the clients later. So the few modules that the codec
needs are loaded here, out of sight of others: whether the process imports, replaces or lacks
`kafka`, neither side notices the other. The import of this module loads them, so that Python's own
lock serves all threads.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "kafka"
# Their own modules are not run: `kafka` imports the clients, `schemas` importlib.resources.
_EMPTY: Final = (_PACKAGE, "kafka.protocol", "kafka.protocol.schemas")


def _directory() -> str:
    """Where kafka-python is installed; a folder `kafka` of the user's project is passed over."""
    for entry in sys.path:
        found = PathFinder.find_spec(_PACKAGE, [entry])
        for directory in (found and found.submodule_search_locations) or ():
            if PathFinder.find_spec("fields", [f"{directory}/protocol/schemas"]) is not None:
                return directory
    raise ImportError("kafka-python 3 is not installed", name=_PACKAGE)


class _Modules:
    """The library's modules by name, of which nothing is in `sys.modules`."""

    def __init__(self, directory: str) -> None:
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._loaded: dict[str, ModuleType] = {}
        for name in _EMPTY:
            self._add(name, [directory + name.removeprefix(_PACKAGE).replace(".", "/")])
        # `kafka.util` takes one class of it, for timers that the codec does not use. The module
        # itself would look for its classes in `sys.modules`, by `inspect`.
        vars(self._add("kafka.errors", None))["KafkaTimeoutError"] = TimeoutError

    def load(self, name: str) -> Any:  # Any: modules without types
        """The module of a name below `kafka`, which runs at its first use."""
        if name in self._loaded:
            return self._loaded[name]
        parent, _, last = name.rpartition(".")
        spec = PathFinder.find_spec(last, self.load(parent).__path__)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"kafka-python has no module {name}", name=name)
        code = SourceFileLoader(last, spec.origin).get_code(last)
        assert code is not None
        module = self._add(name, spec.submodule_search_locations)
        module.__file__ = spec.origin
        exec(code, vars(module))
        setattr(self._loaded[parent], last, module)
        return module

    def _add(self, name: str, directories: Sequence[str] | None) -> ModuleType:
        module = self._loaded[name] = ModuleType(name)
        is_package = directories is not None
        module.__package__ = name if is_package else name.rpartition(".")[0]
        if directories is not None:
            module.__path__ = list(directories)
        vars(module)["__builtins__"] = self._builtins
        return module

    def _import(
        self, name: str, own: Mapping[str, Any] | None = None, local: object = None,
        wanted: Sequence[str] | None = (), level: int = 0,
    ) -> Any:  # fmt: skip  # Any: a module, as of builtins.__import__
        """What `import` means in the library's modules."""
        if level:
            assert own is not None
            base = own["__package__"].rsplit(".", level - 1)[0]
            name = f"{base}.{name}" if name else base
        elif name.partition(".")[0] != _PACKAGE:
            return __import__(name, own, None, wanted or (), 0)
        module = self.load(name)
        for each in wanted or ():
            if each != "*" and not hasattr(module, each):
                self.load(f"{name}.{each}")
        return module if wanted else self._loaded[_PACKAGE]


_modules: Final = _Modules(_directory())
DIRECTORY: Final[str] = _modules.load("kafka.protocol.schemas").__path__[0] + "/resources"
"""The library's schemas, as `FetchRequest.json`."""
BaseField: Final = _modules.load("kafka.protocol.schemas.fields").BaseField
StructField: Final = _modules.load("kafka.protocol.schemas.fields").StructField
DataContainer: Final = _modules.load("kafka.protocol.data_container").DataContainer
