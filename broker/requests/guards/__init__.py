"""Guards: what of a request its sender may not use, taken out before the handler.

May enter: a function for each API that declares it by name. Begin with `guard.py`.
"""
