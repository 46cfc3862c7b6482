"""From a request to its handler, and what several handlers share."""
