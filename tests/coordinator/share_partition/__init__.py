"""Tests of the machine of a share partition, without storage and without a clock."""
