"""Starts the image by Python's module: `start.py CALL IMAGE`; ends with standard input."""

import sys

from testcontainers.kafka import KafkaContainer  # type: ignore[import-not-found]  # not of Ottla

call, image = sys.argv[1:]
container = KafkaContainer(image)
if call == "with_kraft":
    container = container.with_kraft()
with container:
    sys.stdout.write(f"BOOTSTRAP {container.get_bootstrap_server()}\n")
    sys.stdout.flush()
    sys.stdin.read()
