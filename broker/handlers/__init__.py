"""The handlers: a module for each API, or for several APIs that are refused alike."""
