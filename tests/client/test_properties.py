"""The properties of a client that name files: errors name the property and its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client.properties import security_of


@pytest.mark.parametrize("wrong", ["ssl.key", "ssl.certificate"])
def test_a_file_that_is_missing_is_named_by_its_own_property(wrong: str, tmp_path: Path) -> None:
    key = tmp_path / "client.pem"
    key.write_text("a key")
    files = {"ssl.key.location": str(key), "ssl.certificate.location": str(key)}
    files[f"{wrong}.location"] = "/nowhere"
    with pytest.raises(ValueError, match=rf"^{wrong}.location=/nowhere cannot be used: No such"):
        security_of({"security.protocol": "SSL", **files})
