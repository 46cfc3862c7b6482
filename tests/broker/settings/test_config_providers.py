"""Values of settings that stand in files and variables, by Kafka's config providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.settings.config import BrokerConfig, is_known
from ottla.broker.settings.definitions import BadSetting

PACKAGE = "org.apache.kafka.common.config.provider."
PARTITIONS = "num.partitions"


def providers(**classes: str) -> dict[str, str]:
    listed = {"config.providers": ",".join(classes)}
    return listed | {f"config.providers.{word}.class": PACKAGE + classes[word] for word in classes}


def partitions(text: str, given: dict[str, str]) -> str | None:
    return BrokerConfig.from_settings({**given, PARTITIONS: text}).text(PARTITIONS)


FILE = providers(file="FileConfigProvider")
ALLOWED = "config.providers.file.param.allowed.paths"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A properties file."""
    path = tmp_path / "secrets.properties"
    path.write_text("n = 7\nname = 1\nempty =\n")
    return path


def test_a_key_of_a_file_is_the_value(secrets: Path) -> None:
    assert partitions(f"${{file:{secrets}:n}}", FILE) == "7"
    assert partitions(f"1${{file:{secrets}:empty}}${{file:{secrets}:n}}", FILE) == "17"


def test_a_content_and_a_variable_are_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "n").write_text("8")
    monkeypatch.setenv("PARTITIONS_OF_A_TEST", "9")
    given = providers(dir="DirectoryConfigProvider", env="EnvVarConfigProvider")
    assert partitions(f"${{dir:{tmp_path}:n}}", given) == "8"
    assert partitions("${env:PARTITIONS_OF_A_TEST}", given) == "9"


@pytest.mark.parametrize("of", ["no key", "no provider", "no class", "no path", "not allowed"])
def test_a_text_without_a_value_stays_and_is_refused(
    of: str, secrets: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    text, given = f"${{file:{secrets}:n}}", FILE
    match of:
        case "no key":
            text = f"${{file:{secrets}:missing}}"
        case "no provider":
            text = f"${{vault:{secrets}:n}}"
        case "no class":
            given = {"config.providers": "file"}
        case "no path":
            text = "${file:n}"
        case "not allowed":
            given = {**FILE, ALLOWED: str(tmp_path / "other")}
    with pytest.raises(BadSetting) as refused:
        partitions(text, given)
    assert (refused.value.name, refused.value.value) == (PARTITIONS, text)


def test_an_allowed_path_has_all_below_it(secrets: Path, tmp_path: Path) -> None:
    given = {**FILE, ALLOWED: f"/usr,{tmp_path}"}
    assert partitions(f"${{file:{secrets}:n}}", given) == "7"


@pytest.mark.parametrize("allowed", ["relative", "/no/such/path"])
def test_an_allowed_path_is_absolute_and_exists(allowed: str) -> None:
    with pytest.raises(BadSetting, match="an absolute path that exists"):
        partitions("1", {**FILE, ALLOWED: allowed})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing"
    with pytest.raises(BadSetting) as refused:
        partitions(f"${{file:{path}:n}}", FILE)
    assert refused.value.allowed == f"cannot read {path}: No such file or directory"


def test_the_settings_of_providers_are_known_as_variables() -> None:
    assert is_known("config.providers.file.class")
    assert is_known(ALLOWED)
