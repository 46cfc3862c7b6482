"""The commands of `ottla` that use typer: one module each, with a function `add(app)`."""
