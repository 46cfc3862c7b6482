"""The image, started by testcontainers of several languages: `make test-testcontainers`."""
