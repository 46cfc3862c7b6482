"""Takes old records out of logs: whole segments by age and size, and compaction by key.

May enter: Kafka's LogCleaner and the rules of retention. They get a log and work in steps; when
they run is up to `broker/upkeep/`. Begin with `compaction.py`.
"""
