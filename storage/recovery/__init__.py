"""Opens the files of a log after any kind of stop.

May enter: what runs before the first append, and what a running log saves for it. Begin with
`recovery.py`.
"""
