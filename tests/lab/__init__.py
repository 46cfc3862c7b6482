"""Tests of the lab: rules, actions, the trace, the control."""
