"""Whether the brokers of this process keep a trace for the stories of failing tests.

The pytest plugin sets it before the first test; it imports nothing, because every run of pytest
loads it.
"""

from __future__ import annotations

MODES = ("off", "on-failure", "always")
is_on = False
folder = "ottla-report"
"""Gets the pages that no report of pytest writes."""
