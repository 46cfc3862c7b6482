"""The generated types say what the schemas say, and mypy finds a wrong field by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from tools.message_types import FOLDER, stubs

ROOT = Path(__file__).parent.parent.parent
MADE = stubs()


def test_the_stubs_agree_with_the_schemas() -> None:
    found = {path.name: path.read_text() for path in FOLDER.glob("*.pyi")}
    assert found == MADE, "make message-types"


@pytest.mark.parametrize("name", [key.name.lower() for key in HANDLERS])
def test_each_api_has_a_request_and_a_response(name: str) -> None:
    api = "".join(word.capitalize() for word in name.split("_"))
    assert f"class {api}Request(Protocol):" in MADE[f"{name}.pyi"]
    assert f"class {api}Response(TypedDict):" in MADE[f"{name}.pyi"]


def test_null_versions_and_defaults_are_in_the_types() -> None:
    metadata, fetch = MADE["metadata.pyi"], MADE["fetch.pyi"]
    assert "    topics: Sequence[MetadataRequestTopic] | None\n" in metadata  # null is all topics
    assert "    allow_auto_topic_creation: bool  # 4+\n" in metadata
    assert "    def last_fetched_epoch(self) -> int: ...  # 12+\n" in fetch
    assert "    high_watermark: int\n" in fetch
    assert "    last_stable_offset: NotRequired[int]\n" in fetch  # its schema has a default


RIGHT = """
from ottla.protocol.api_types.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.api_types.write_txn_markers import WritableTxnMarkerResult

def answer(request: EndTxnRequest) -> EndTxnResponse:
    return {"producer_id": request.producer_id, "producer_epoch": 0}

def marker(producer_id: int) -> WritableTxnMarkerResult:
    return {"producer_id": producer_id, "topics": []}
"""
WRONG = [
    ("request.producer_id", "request.producer_identity", "attr-defined"),
    ('"producer_epoch": 0', '"producer_epoque": 0', "typeddict-unknown-key"),
    ('"producer_id": producer_id, ', "", "typeddict-item"),
    ('"topics": []', '"topics": None', "typeddict-item"),
    ("request.producer_id", "request.transactional_id", "typeddict-item"),
]


@pytest.mark.slow
def test_mypy_finds_misspelt_missing_and_ill_typed_fields(tmp_path: Path) -> None:
    variants = {"right.py": RIGHT}
    for number, (right, wrong, _) in enumerate(WRONG):
        assert right in RIGHT
        variants[f"wrong_{number}.py"] = RIGHT.replace(right, wrong)
    for name, source in variants.items():
        (tmp_path / name).write_text(source)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    files = [str(tmp_path / name) for name in variants]
    ran = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "right.py" not in ran.stdout
    for number, (_, _, kind) in enumerate(WRONG):
        lines = [line for line in ran.stdout.splitlines() if f"wrong_{number}.py" in line]
        assert any(f"[{kind}]" in line for line in lines), (WRONG[number], ran.stdout, ran.stderr)
