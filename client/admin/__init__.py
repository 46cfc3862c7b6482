"""Requests of administration, a module for each subject: topics, configs, groups, offsets, ACLs."""
