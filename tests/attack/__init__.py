"""Attacks on a running broker while a good client works: `make attack`.

`__main__.py` is the command. `campaign.py` runs one attack after the other. `good_client.py` is the
client that must not notice them. `bounds.py` has the limits. The other modules are the attacks.
"""
