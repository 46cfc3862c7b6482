"""Reads the files of a data directory for `ottla log`, and changes nothing.

May enter: what describes files of Ottla or Kafka. Begin with `directory_inspection.py`.
"""
