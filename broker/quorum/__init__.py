"""A cluster of several processes or containers, as `controller.quorum.voters` describes it.

The process with the lowest voter id runs the cluster with all its nodes (leader.py). Each other
process joins it over its controller's port with its settings (member.py), and becomes a node there
(members.py). It serves its own listeners by passing each connection on (handover.py), and its end
is the end of its node: at once if its connection is lost, after the last answers if it stops.

Begin with lines.py, what they say to each other. Who leads is decided in settings/quorum.py.
"""
