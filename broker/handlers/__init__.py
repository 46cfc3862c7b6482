"""The handlers: one module for each API; `broker/requests/served_apis.py` lists them."""
