"""Principals are values: equal by type and name."""

from __future__ import annotations

from ottla.broker.principals import ANONYMOUS, KafkaPrincipal


def test_principals_are_equal_by_type_and_name() -> None:
    alice = KafkaPrincipal("User", "alice")
    assert alice == KafkaPrincipal("User", "alice", is_from_token=True)
    assert len({alice, KafkaPrincipal("User", "alice")}) == 1
    assert alice not in (KafkaPrincipal("Role", "alice"), KafkaPrincipal("User", "bob"), ANONYMOUS)
    assert alice != "User:alice"


def test_a_principal_is_written_with_its_type() -> None:
    assert str(ANONYMOUS) == ANONYMOUS.text == "User:ANONYMOUS"
    assert repr(KafkaPrincipal("User", "a:b")) == "KafkaPrincipal('User:a:b')"
