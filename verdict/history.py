"""The old name of `ottla.verdict.oracle.history`, for one release."""

from warnings import warn

from .oracle.history import *  # noqa: F403  # all names, as under the old one

warn("ottla.verdict.history is ottla.verdict.oracle.history now", DeprecationWarning, stacklevel=2)
