"""The state machines at work: controller, logs, coordinators, markers, flushes and waits."""
