"""A checkpoint file of which a loss of power left a part is damaged, at whatever byte it ends."""

from __future__ import annotations

import pytest

from ottla.storage.disk.checkpoint_file import decode, encode

OF_KAFKA = b"0\n2\norders 0 123\norders 1 45\n"


@pytest.mark.parametrize("whole", [OF_KAFKA, encode(["orders 0 123", "orders 1 45"]), encode([])])
def test_each_part_of_a_checkpoint_is_damaged(whole: bytes) -> None:
    words = 3
    assert decode(whole, words=words)
    for size in range(len(whole)):
        with pytest.raises(ValueError):  # noqa: PT011 - any of its texts
            decode(whole[:size], words=words)
