"""Rules of the protocol, a module for each subject: what a client must do, and why."""
