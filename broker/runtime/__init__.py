"""Runs the state machines: controller, logs, coordinators, markers, flushes, quotas."""
