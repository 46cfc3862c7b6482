"""The control of a broker by HTTP: its operations and their description.

May enter: what turns an order into a call of the lab. Begin with `control.py`, which is all of the
lab that the broker's start imports, then `operations.py`.
"""
