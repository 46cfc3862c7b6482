"""The given shapes of logs, with what readers see of them."""

from __future__ import annotations

from typing import Any, Final

SHAPES: Final[dict[str, tuple[dict[str, Any], list[int], int]]] = {
    "ends_in_marker": ({}, [0, 1, 2], 4),
    "only_aborted_data": ({}, [], 4),
    "abort_marker_without_data": ({}, [], 1),
    "compressed_aborted_batch": ({}, [20], 21),
    "compacted_hole_at_end": ({}, [0], 10),
    "empty_batches": ({}, [15], 16),
    "sparse_offsets": ({}, [0, 2**29, 2**30, 3 * 2**29, 2**31], 2**31 + 1),
    "timestamps_out_of_order": ({}, [0, 1, 2, 3, 4, 5, 6, 7, 8], 9),
    "unknown_control_record": ({}, [0, 2], 3),
    "many_aborted_transactions": ({"transactions": 500}, [], 1000),
    "log_starts_at": ({}, [10**9, 10**9 + 1, 10**9 + 2], 10**9 + 3),
}
"""By name: parameters, the offsets that read_committed returns, and the end of the log."""
