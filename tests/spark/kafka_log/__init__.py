"""Tests of the data source `kafka-log`."""
