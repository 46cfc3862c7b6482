"""Transaction markers on their way from the coordinator to the leaders of partitions.

Begin with `marker_channel.py`.
"""
