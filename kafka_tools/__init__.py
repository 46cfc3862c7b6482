"""Kafka's shell tools on Ottla's own client, for scripts that are written for Kafka's images.

One module a tool, with Kafka's options, output and exit status; `names.py` has the table of names,
and of Kafka's classes. `tool.py` runs them, `session.py` connects as Kafka's tools do, `options.py`
reads options as joptsimple does, `texts.py` prints, `record_json.py` decodes records of internal
topics. docs/reference/kafka-tools.md lists what each tool can do.

Begin with `topics.py`.
"""
