"""How the commands speak with a person: tables and lines, options as data, extras that are missing.

Below all commands; nothing here sends a request. `tables.py` is the
one place where text for people is printed and escaped; `options.py` has the options that argparse
and typer share, and `CannotRun`; `security.py` reads the client properties of a command.

Begin with `tables.py`.
"""
