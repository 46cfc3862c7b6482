"""The old name of `ottla.spark.audit.rows`, for one release."""

from warnings import warn

from .audit.rows import *  # noqa: F403  # all names, as under the old one

warn("ottla.spark.audit_rows is ottla.spark.audit.rows now", DeprecationWarning, stacklevel=2)
