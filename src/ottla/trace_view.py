"""The old name of `ottla.trace.view`, for one release."""

from warnings import warn

from .trace.reader import *  # noqa: F403  # all names, as under the old one
from .trace.view import *  # noqa: F403

warn("ottla.trace_view is ottla.trace.view now", DeprecationWarning, stacklevel=2)
