"""CRC-32C over any bytes-like object, by the crc32c library.

Importing the library's package loads `importlib.metadata` (30 ms and 6 MB, a sixth of the broker's
start), so this module loads only its compiled module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _load() -> Callable[..., int]:
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        raise ImportError("the package crc32c is not installed")
    spec = PathFinder.find_spec("_crc32c", list(package.submodule_search_locations))
    if spec is None or spec.loader is None:  # a layout unknown to this version of Ottla
        from crc32c import crc32c as slowly_loaded

        return slowly_loaded
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., int] = module.crc32c
    return function


crc32c: Callable[..., int] = _load()
"""CRC-32C (Castagnoli) of the given bytes, as an unsigned 32-bit number; of bytes that continue
others, with the CRC of those as the second argument."""
