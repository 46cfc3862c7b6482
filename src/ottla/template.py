"""The old name of `ottla.serving.template`, for one release."""

from warnings import warn

from .serving.template import *  # noqa: F403

warn("ottla.template is ottla.serving.template now", DeprecationWarning, stacklevel=2)
