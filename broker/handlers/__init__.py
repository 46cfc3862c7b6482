"""The handlers: a module for each API, in a folder by subject.

May enter: what one API does with a request. Code that several folders share is in `requests/`.
`@serves` of `broker/requests/api.py` declares each; `make apis` lists them.
"""
