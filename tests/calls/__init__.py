"""The number of Python calls of a request: counted, recorded in calls.txt, compared.

Calls do not vary with the machine, as times do, and a reader has to follow them. `counting.py`
says what counts, `scenes.py` has the requests, and `test_calls.py` fails when one of them grows.
"""
