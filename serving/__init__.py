"""The process of a broker: `ottla serve`, the warm template that forks brokers, the image's start.

Imports are counted here: the first answer comes 0.15 s after the start. `serve.py` reads the
settings and runs `ottla.broker.server`; `template_process.py` forks a broker for each connection to
its socket, and `template.py` asks for one; `container.py` does what Kafka's images do about
variables; `health.py` asks a broker whether it answers; `lifeline.py` ends it with its parent.

Begin with `serve.py`.
"""
