"""`ottla demo`: runs `ottla.spark.demo`, with its own broker unless one is given."""

from __future__ import annotations

import secrets

from ..spark import demo
from ..testing.broker import running_broker


def run_demo(*, bootstrap: str | None, kill: bool, transactions: int, as_json: bool = False) -> int:
    """Run the demo; return the exit status. `bootstrap`: address of a running broker, or None."""
    if bootstrap is not None:
        suffix = f"-{secrets.token_hex(3)}"
        return demo.run(demo.Run(bootstrap, transactions, suffix=suffix), as_json=as_json)
    with running_broker() as broker:
        killed = broker if kill else None
        return demo.run(demo.Run(broker.bootstrap, transactions, broker=killed), as_json=as_json)
