"""A broker that is killed while clients are at work, and started again on its directory."""
