"""The command line, the test broker and the pytest fixture, as a user meets them."""
