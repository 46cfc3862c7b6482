"""`ottla log`: prints and checks the logs of a data directory, as text or as lines of JSON."""
