"""A broker is killed while clients work, and restarted on its directory."""
