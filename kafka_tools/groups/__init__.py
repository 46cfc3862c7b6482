"""The tools of groups: consumer, share and streams groups, their tables and offset resets."""
