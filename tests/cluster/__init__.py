"""Stock clients on a cluster whose nodes stop, start and move leaders meanwhile."""
