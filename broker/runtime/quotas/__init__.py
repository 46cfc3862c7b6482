"""The quotas of clients: rates, and how long to throttle. Begin with `quotas.py`."""
