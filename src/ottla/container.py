"""The old name of `ottla.serving.container`, for one release."""

import sys
from warnings import warn

from .serving.container import *  # noqa: F403  # all names, as under the old one
from .serving.container import main

warn("ottla.container is ottla.serving.container now", DeprecationWarning, stacklevel=2)

if __name__ == "__main__":
    sys.exit(main())
