"""Kafka's shell tools on Ottla's own client, for scripts that are written for Kafka's images.

One module a tool, with Kafka's options, output and exit status; `__main__.py` has the table of
names. `tool.py` runs them, `session.py` connects as Kafka's tools do, `options.py` reads options
as joptsimple does, `texts.py` prints. docs/reference/kafka-tools.md lists what each tool can
do.

Begin with `topics.py`.
"""
