"""The help pages and completions of commands that run without typer, so that they start fast."""
