"""`kafka-storage format --add-scram`: each answer is what Apache Kafka 4.1.1's tool gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client import Client, NoAnswer
from ottla.client.security import ClientSecurity
from ottla.kafka_tools.__main__ import main
from ottla.kafka_tools.scram_arguments import BadCredential, credential
from ottla.testing import Ottla

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLUSTER_ID = "QW5jaG9yS2Fma2EwMDAwMA"
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
}


def test_the_keys_are_those_of_kafkas_tool() -> None:
    bob = credential('SCRAM-SHA-512=[name=bob,password="pw",salt=c2FsdA==,iterations=5000]')
    assert (bob.name, bob.mechanism, bob.salt, bob.iterations) == ("bob", 2, b"salt", 5000)
    assert bob.stored_key.hex().startswith("28f0bfe5c1be276bf88c8c69594a1f0b63e25a68d501e8d4")
    assert bob.server_key.hex().endswith(
        "f14c89b9234ffb66b52dbef451a58bc46116d8cc47b574cfecc781e4d182817e7c"
    )
    # A password precedes a salted password.
    alice = credential(
        "SCRAM-SHA-256=[name=alice,saltedpassword=c2VjcmV0,salt=c2FsdA==,password=b]"
    )
    assert alice.stored_key.hex() == (
        "5e1d138aaa3063173c65bb2783fbec97cd7a51980f63cceeb5bdead0742ab131"
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SCRAM-SHA-256", "Failed to find equals sign in SCRAM argument 'SCRAM-SHA-256'"),
        (
            "SCRAM-SHA-1=[name=a,password=b]",
            "The add-scram mechanism SCRAM-SHA-1 is not supported.",
        ),
        ("SCRAM-SHA-256=name=a", "Expected configuration string to start with ["),
        ("SCRAM-SHA-256=[name=a", "Expected configuration string to end with ]"),
        ("SCRAM-SHA-256=[]", "No equals sign found in SCRAM component: "),
        ("SCRAM-SHA-256=[name=a,b]", "No equals sign found in SCRAM component: b"),
        ("SCRAM-SHA-256=[password=b]", "You must supply 'name' to add-scram"),
        (
            "SCRAM-SHA-256=[name=a]",
            "You must supply one of 'password' or 'saltedpassword' to add-scram",
        ),
        (
            "SCRAM-SHA-256=[name=a,saltedpassword=c2VjcmV0]",
            "You must supply 'salt' with 'saltedpassword' to add-scram",
        ),
        ("SCRAM-SHA-256=[name=a,password=b,salt=!!]", "Failed to decode given salt: !!"),
        ("SCRAM-SHA-256=[name=a,password=b,iterations=]", "Failed to parse iterations count: "),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=100]",
            "The 'iterations' value must be >= 4096 for add-scram using SCRAM_SHA_256",
        ),
        (
            "SCRAM-SHA-512=[name=a,password=b,iterations=20000]",
            "The 'iterations' value must be <= 16384 for add-scram using SCRAM_SHA_512",
        ),
        ("SCRAM-SHA-256=[name=a,password=b,foo=x]", "Unknown SCRAM configurations: foo"),
    ],
)
def test_wrong_texts_have_kafkas_errors(text: str, error: str) -> None:
    with pytest.raises(BadCredential) as caught:
        credential(text)
    assert str(caught.value) == error


def test_the_first_start_knows_the_users_of_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={tmp_path}/logs\n")
    words = ["kafka-storage", "format", "-t", CLUSTER_ID, "-c", str(config)]
    assert main([*words, "--add-scram", "SCRAM-SHA-512=[name=alice]"]) == 1
    assert "You must supply one of" in capsys.readouterr().err
    assert not (tmp_path / "logs").exists()
    alice = "SCRAM-SHA-512=[name=alice,password=secret]"
    assert main([*words, "-S", alice, "--add-scram", alice.replace("alice", "bob")]) == 0
    with Ottla(data_dir=tmp_path / "logs", settings=SETTINGS) as broker:
        for _ in range(2):
            for name in ("alice", "bob"):
                right = ClientSecurity(None, (name, "secret"), "SCRAM-SHA-512")
                Client.to(broker.bootstrap, security=right).close()
                wrong = ClientSecurity(None, (name, "wrong"), "SCRAM-SHA-512")
                with pytest.raises(NoAnswer, match="the login failed"):
                    Client.to(broker.bootstrap, security=wrong)
            broker.restart()
