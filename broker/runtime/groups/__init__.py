"""What the machine of groups gets from a broker: settings and topics.

Begin with `group_settings.py`.
"""
