"""The tools of records: the console's clients, offsets, deletion, and dumps of log files."""
