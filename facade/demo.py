"""`ottla demo`: runs `ottla.spark.demo`, with its own broker unless one is given."""

from __future__ import annotations

import secrets

from ottla.spark import demo
from ottla.testing import running_broker


def run_demo(*, bootstrap: str | None, kill: bool, transactions: int) -> int:
    """Run the demo; return the exit status. `bootstrap`: address of a running broker, or None."""
    if bootstrap is not None:
        suffix = f"-{secrets.token_hex(3)}"
        return demo.run(bootstrap=bootstrap, transactions=transactions, suffix=suffix)
    with running_broker() as broker:
        return demo.run(
            bootstrap=broker.bootstrap, transactions=transactions, broker=broker if kill else None
        )
