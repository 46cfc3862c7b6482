"""The commands of `ottla` that use typer: one module each, with a function `add(app)`.

A command reads its options, sends requests by `ottla.client`, and prints by `ottla.console.tables`.
`app.py` imports only the module of the command that was given. `serve`, `template` and `health` run
without typer, to start fast (`ottla.serving`); their modules here have the help pages alone.

Begin with `app.py`.
"""
