"""The program of a Python client: the name of its module, then the fields of a job."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .job import Job

if __name__ == "__main__":
    module, *texts = sys.argv[1:]
    fields: dict[str, Any] = dict(zip(Job._fields, texts, strict=True))
    fields["seconds"] = float(fields["seconds"])
    report = import_module(f".{module}", __package__).run(Job(**fields))
    sys.stdout.write(f"{report['sent']} sent, {report['read']} read, with transactions\n")
