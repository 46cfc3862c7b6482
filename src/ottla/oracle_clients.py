"""The old name of `ottla.testing.oracle_clients`, for one release."""

from warnings import warn

from .testing.oracle_clients import *  # noqa: F403  # all names, as under the old one

warn("ottla.oracle_clients is ottla.testing.oracle_clients now", DeprecationWarning, stacklevel=2)
