"""The producers of one log: sequences, open and aborted transactions, and their files.

May enter: Kafka's ProducerStateManager and its indexes. Begin with `producers.py`.
"""
