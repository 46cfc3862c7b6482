"""Stock clients on listeners of every protocol and mechanism: `python -m tests.secured_clients`."""
