"""The tools that measure and verify: performance, latency, and the verifiable clients."""
