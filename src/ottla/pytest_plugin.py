"""The old name of `ottla.testing.pytest_plugin`, for one release (`-p ottla.pytest_plugin`)."""

pytest_plugins = ["ottla.testing.pytest_plugin"]
