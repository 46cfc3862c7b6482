"""What must be known of the APIs before their handlers are imported, from the handlers.

`make apis` writes the table of `broker/requests/served_apis.py` and that of
docs/reference/compatibility.md.
"""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import Final

from ottla.broker import handlers
from ottla.broker.requests.api import DECLARED, Served
from ottla.protocol import codec

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "reference" / "compatibility.md"

LINE_LENGTH: Final = 100
_HEAD: Final = '''"""The versions of all APIs, and the modules of their handlers; by `make apis`.

ApiVersions answers them. A module below `broker/handlers/` is imported at the first use of its API.
"""

from __future__ import annotations

from typing import Final

from ...protocol.api_keys import ApiKey
from .api import Served

HANDLERS: Final[dict[ApiKey, Served]] = {
'''
_TABLE: Final = re.compile(r"\| key \| API \| versions \|\n\|--:\|---\|---\|\n(\|.*\n)*")


def declared() -> dict[str, str]:
    """The text of each file that is made, by its path from the root of the repository."""
    for module in pkgutil.walk_packages(handlers.__path__, f"{handlers.__name__}."):
        import_module(module.name)
    rows = dict(sorted(DECLARED.items()))
    table = "".join(_row(f"    ApiKey.{key.name}: ", served) for key, served in rows.items())
    page = ["| key | API | versions |\n|--:|---|---|\n"]
    for key, served in rows.items():
        page.append(f"| {key} | {codec.api_name(key)} | {versions(served)} |\n")
    text, count = _TABLE.subn("".join(page), PAGE.read_text())
    assert count == 1, f"{PAGE} has no table of APIs"
    return {
        "broker/requests/served_apis.py": f"{_HEAD}{table}}}\n",
        "docs/reference/compatibility.md": text,
    }


def versions(served: Served) -> str:
    """The versions as the page shows them."""
    lowest, highest = served.lowest, served.highest
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def _row(start: str, served: Served) -> str:
    """The row of an API, without defaults, on as many lines as ruff gives it."""
    usual = Served(served.lowest, served.highest, served.module)
    values = [str(served.lowest), str(served.highest), f'"{served.module}"']
    for name, value in served._asdict().items():
        if value != getattr(usual, name):
            values.append(f"{name}={value}")
    inner = ", ".join(values)
    row = f"{start}Served({inner}),\n"
    if len(row) <= LINE_LENGTH + 1:
        return row
    return f"{start}Served(\n        {inner}\n    ),\n"


if __name__ == "__main__":
    for path, made in declared().items():
        (ROOT / path).write_text(made)
