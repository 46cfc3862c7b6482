"""Imports the libraries of the compression codecs at the first use of a codec.

Most brokers never see a compressed batch. An import holds up the thread that asks for it while the
library is read from the disk, so an event loop looks into `loaded` and leaves the first use of a
codec to another thread.
"""

from __future__ import annotations

import sys
from typing import Final

from .batch import Compression

_ZSTD_LIBRARY: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_LIBRARIES: Final[dict[int, tuple[str, ...]]] = {
    Compression.GZIP: ("zlib",),
    Compression.SNAPPY: ("cramjam",),
    Compression.LZ4: ("cramjam", "xxhash"),
    Compression.ZSTD: (_ZSTD_LIBRARY, "cramjam"),
}
loaded: Final[set[int]] = {Compression.NONE}
"""The codecs whose libraries this process has imported."""


def load(codec: int) -> None:
    """Import what a codec needs; nothing for NONE and for numbers of no codec.

    It may take a tenth of a second on a slow disk.
    """
    from importlib import import_module

    for name in _LIBRARIES.get(codec, ()):
        _read_ahead(name)
        import_module(name)
    loaded.add(codec)


def _read_ahead(name: str) -> None:
    """Bring a library into the page cache; other threads run meanwhile, unlike in its import."""
    from contextlib import suppress
    from importlib.util import find_spec
    from pathlib import Path

    with suppress(ImportError, OSError):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return
        origin = Path(spec.origin)
        is_package = spec.submodule_search_locations is not None
        for each in origin.parent.glob("*.so") if is_package else (origin,):
            each.read_bytes()
