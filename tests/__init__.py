"""The tests of Ottla; folders are named after the rooms, or after what they talk to."""
