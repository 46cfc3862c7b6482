"""`ottla audit`: proves exactly-once from the logs, or refutes it with the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console.options import CannotRun
from ..console.security import command_properties
from .shared_options import check_writable, guarded


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("audit", epilog="Example: ottla audit --data-dir data --html audit.html")(
        guarded(_audit)
    )


def _audit(
    directory: Annotated[
        str, typer.Argument(metavar="[DIR]", help="Data directory, as by --data-dir.")
    ] = "",
    data_dir: Annotated[
        str, typer.Option("--data-dir", metavar="DIR", help="Data directory, Ottla's or Kafka's.")
    ] = "",
    bootstrap: Annotated[
        str,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT,...", help="Read a running cluster."),
    ] = "",
    input_topic: Annotated[
        str, typer.Option("--input", metavar="TOPIC", help="Compare this topic ...")
    ] = "",
    output_topic: Annotated[
        str, typer.Option("--output", metavar="TOPIC", help="... with this one, by key.")
    ] = "",
    key_expr: Annotated[
        str, typer.Option("--key-expr", metavar="SQL", help="The key of a record, in Spark SQL.")
    ] = "cast(key as string)",
    output_key_expr: Annotated[
        str, typer.Option("--output-key-expr", metavar="SQL", help="The same for the output.")
    ] = "",
    group: Annotated[
        str, typer.Option("--group", metavar="GROUP", help="Its offsets are the end of the input.")
    ] = "",
    checkpoint: Annotated[
        str,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="A Spark query's progress is the end.",
        ),
    ] = "",
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Spark's master.")
    ] = "local[*]",
    json_file: Annotated[
        str, typer.Option("--json", metavar="FILE", help="Write JSON; -: to standard output.")
    ] = "",
    parquet: Annotated[
        str, typer.Option("--parquet", metavar="DIR", help="Write all findings as Parquet.")
    ] = "",
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="Write one page with plots.")
    ] = "",
    crc: Annotated[bool, typer.Option("--crc/--no-crc", help="Check the CRC of batches.")] = True,
) -> int:
    """Check the transactions of all logs: markers, states, sequences, epochs, offsets.

    It needs Spark: pip install 'ottla[spark]'. Exit status 1 if a rule is broken, 2 if the audit
    cannot run.
    """
    if sum(map(bool, (directory, data_dir, bootstrap))) != 1:
        raise CannotRun("audit: expected one of DIR, --data-dir DIR and --bootstrap HOST:PORT")
    data_dir = data_dir or directory
    if bool(input_topic) != bool(output_topic):
        raise CannotRun("audit: --input and --output belong together")
    check_writable("audit --json", Path(json_file) if json_file not in {"", "-"} else None)
    check_writable("audit --html", Path(html) if html else None)
    from ..spark.audit.main import AuditFailed, Outputs, audit, copy_of, of_directory

    try:
        if bootstrap:
            from ..spark.audit.wire import of_cluster

            properties = command_properties()
        return audit(
            (lambda: of_cluster(bootstrap, properties))
            if bootstrap
            else (lambda: of_directory(data_dir)),
            copy=copy_of(
                input_topic, output_topic, key_expr, output_key_expr, group, checkpoint=checkpoint
            ),
            master=master,
            outputs=Outputs(json_file, parquet, html),
            check_crc=crc,
        )
    except AuditFailed as wrong:
        raise CannotRun(f"audit: {wrong}") from None
