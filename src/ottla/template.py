"""The old name of `ottla.serving.template`, for one release."""

from warnings import warn

from .serving.template import *  # noqa: F403  # all names, as under the old one

warn("ottla.template is ottla.serving.template now", DeprecationWarning, stacklevel=2)
