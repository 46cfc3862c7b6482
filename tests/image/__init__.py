"""The container image in a real engine: `make test-image`."""
