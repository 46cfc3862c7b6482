"""Imports the libraries of the compression codecs at the first use of a codec.

Most brokers never see a compressed batch. An import holds up the thread that asks for it while the
library is read from the disk, so an event loop asks `is_loaded` and leaves the first use of a codec
to another thread.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .batch import Compression

_ZSTD: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_LIBRARIES: Final[dict[int, tuple[str, ...]]] = {
    Compression.GZIP: ("zlib",),
    Compression.SNAPPY: ("cramjam",),
    Compression.LZ4: ("cramjam", "xxhash"),
    Compression.ZSTD: (_ZSTD, "cramjam"),
}
loaded: Final[set[int]] = {Compression.NONE}
"""The codecs whose libraries this process has imported."""


def is_loaded(codec: int) -> bool:
    """Whether the first use of a codec imports nothing. So for NONE and for numbers of no codec."""
    return codec in loaded or codec not in _LIBRARIES


def load(codec: int) -> None:
    """Import what a codec needs. It may take a tenth of a second on a slow disk."""
    if is_loaded(codec):
        return
    for name in _LIBRARIES[codec]:
        _read_ahead(name)
        import_module(name)
    loaded.add(codec)


def _read_ahead(name: str) -> None:
    """Bring a library into the page cache; other threads run meanwhile, unlike in its import."""
    with suppress(ImportError, OSError):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return
        origin = Path(spec.origin)
        is_package = spec.submodule_search_locations is not None
        for each in origin.parent.glob("*.so") if is_package else (origin,):
            each.read_bytes()
