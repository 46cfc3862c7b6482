"""Settings of groups for cases, by IncrementalAlterConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .client import error_name, until

if TYPE_CHECKING:
    from .broker import Broker

GROUP = 32
_SET = 0


def altered_group(broker: Broker, group: str, **settings: object) -> str:
    """Set settings of a group, with `_` for `.`; the error's name."""
    configs = [
        {"name": name.replace("_", "."), "config_operation": _SET, "value": str(value)}
        for name, value in settings.items()
    ]
    resource = {"resource_type": GROUP, "resource_name": group, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    answer = broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]
    return error_name(answer["error_code"])


def set_of_group(broker: Broker, group: str, **settings: object) -> None:
    """Set settings of a group, with `_` for `.`, and wait until the broker shows them."""
    assert altered_group(broker, group, **settings) == "NONE"
    wanted = {name.replace("_", "."): str(value) for name, value in settings.items()}
    resource = {"resource_type": GROUP, "resource_name": group, "configuration_keys": list(wanted)}
    body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}

    def shown() -> dict[str, str]:
        configs = broker.call("DescribeConfigs", 4, body)["results"][0]["configs"]
        return {config["name"]: config["value"] for config in configs}

    assert until(shown, lambda values: values == wanted) == wanted
