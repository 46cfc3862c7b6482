"""Answers that are not the broker's own: errors in the place of each API, and corrupt answers.

May enter: what makes or changes an answer. Begin with `error_answers.py` or `corruption.py`.
"""
