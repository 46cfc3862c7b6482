"""Without an optional extra, each way to what needs it ends with one line that names the extra."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ottla.console.extras import EXTRAS
from tests.project_files import ROOMS, ROOT, files_in

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

blocked = sys.argv.pop(1).split(",")


class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Blocked())
"""
COMMAND = WITHOUT + "from ottla.__main__ import main\nsys.exit(main())\n"
SPARK = "confluent_kafka,numpy,pandas,py4j,pyarrow,pyspark"
PKCS12 = ("--set", "listeners=SSL://127.0.0.1:0", "--set", "ssl.keystore.type=PKCS12", "--set",
          "ssl.keystore.location={file}")  # fmt: skip
SIGNED = ("--set", "listeners=SASL_PLAINTEXT://127.0.0.1:0", "--set",
          "sasl.enabled.mechanisms=OAUTHBEARER", "--set",
          "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class="
          "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
          "--set", "sasl.oauthbearer.jwks.endpoint.url=file:{file}", "--set",
          "sasl.oauthbearer.expected.audience=kafka", "--set",
          "sasl.oauthbearer.expected.issuer=https://issuer.example", "--set",
          "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config="
          "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
          )  # fmt: skip

# The extra, the modules that are not there, and the words of the command. Kafka's tools are not
# here: they end as Kafka's do, with status 1.
COMMANDS = {
    "audit of a directory": ("spark", SPARK, ["audit", "--data-dir", "{home}"]),
    "audit of a cluster": ("spark", SPARK, ["audit", "--bootstrap", "127.0.0.1:9"]),
    "audit of two topics": (
        "spark", SPARK, ["audit", "--data-dir", "{home}", "--input", "a", "--output", "b"]
    ),
    "audit without numpy": ("spark", "numpy", ["audit", "--data-dir", "{home}"]),
    "audit without pyarrow": ("spark", "pyarrow", ["audit", "--data-dir", "{home}"]),
    "demo": ("spark", SPARK, ["demo"]),
    "demo without pyspark": ("spark", "pyspark,py4j", ["demo"]),
    "demo with a broker": ("spark", SPARK, ["demo", "--bootstrap", "127.0.0.1:9"]),
    "trace parquet": ("parquet", "pyarrow", ["trace", "parquet", "{file}", "--out", "{home}/p"]),
    "trace pcap": ("pcap", "dpkt", ["trace", "pcap", "{file}"]),
    "certs": ("tls", "cryptography", ["certs", "{home}/certs"]),
    "serve with a PKCS12 store": (
        "tls", "cryptography", ["serve", "--data-dir", "{home}/data", *PKCS12]
    ),
    "serve with signed tokens": (
        "oauth", "jwt,cryptography", ["serve", "--data-dir", "{home}/data", *SIGNED]
    ),
    "a command with a PKCS12 store": ("tls", "cryptography", ["topics", "list"]),
}  # fmt: skip

# Modules of the package that import one of an extra, and the rows above or below that meet them.
PLACES = {
    "testing/oracle_clients.py": "",  # it wraps the library of the user's program
    "trace/parquet.py": "trace parquet",
    "lab/captures/segments.py": "trace pcap",
    "security/certificates.py": "certs",
    "security/key_stores.py": "serve with a PKCS12 store",
    "security/signed_tokens.py": "serve with signed tokens",
}
PROGRAMS = {
    "ottla.spark.session": "from ottla.spark.session import session; session('t')",
    "ottla.spark.testing": "import ottla.spark.testing",
    "kafka-log": "from ottla.spark.kafka_log import register; register(None)",
    "spark-submit": "from ottla.spark.audit.main import main; sys.exit(main(['--data-dir', '.']))",
    "certificates": "from ottla.testing import Ottla; Ottla(security='SSL').start()",
}


def run(
    program: str, blocked: str, words: list[str], home: Path
) -> subprocess.CompletedProcess[str]:
    (home / "file").write_bytes(b"")
    (home / "client").write_text(
        f"security.protocol=SSL\nssl.truststore.type=PKCS12\nssl.truststore.location={home}/file\n"
    )
    names = {"home": str(home), "file": str(home / "file"), "client": str(home / "client")}
    given = [word.format(**names) for word in words]
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "OTTLA_COMMAND_CONFIG": str(home / "client")
    }  # fmt: skip
    if "topics" not in words:
        del environment["OTTLA_COMMAND_CONFIG"]
    if "PYTHONPATH" in os.environ:  # the product of another checkout
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return subprocess.run(
        [sys.executable, "-c", program, blocked, *given],
        env=environment, cwd=home, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_its_extra_is_one_line_and_status_2(name: str, tmp_path: Path) -> None:
    extra, blocked, words = COMMANDS[name]
    ended = run(COMMAND, blocked, words, tmp_path)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    (line,) = ended.stderr.splitlines()
    assert f"pip install 'ottla[{extra}]'" in line


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_without_an_extra_names_it(name: str, tmp_path: Path) -> None:
    blocked = "cryptography" if name == "certificates" else SPARK
    ended = run(WITHOUT + PROGRAMS[name], blocked, [], tmp_path)
    extra = "tls" if name == "certificates" else "spark"
    assert ended.returncode != 0
    assert f"pip install 'ottla[{extra}]'" in ended.stderr.splitlines()[-1], ended.stderr


def test_a_fixture_without_an_extra_is_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\ndef test_spark(spark_kafka):\n    pass\n\n"
        "@pytest.mark.ottla(security='SSL')\ndef test_tls(ottla_broker):\n    pass\n"
    )
    program = f"{WITHOUT}import pytest\nsys.exit(pytest.main())\n"
    words = ["-q", "-p", "no:cacheprovider", "--basetemp", "scratch", "test_it.py"]
    ended = run(program, f"{SPARK},cryptography", words, tmp_path)
    lines = ended.stdout.splitlines()
    assert "spark_kafka: Spark needs pyspark: pip install 'ottla[spark]'" in lines
    assert sum("ottla_broker: " in line and "'ottla[tls]'" in line for line in lines) == 1
    assert not [line for line in lines if line.startswith(("E  ", ">  "))], ended.stdout


def test_each_module_of_an_extra_has_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    given = project["optional-dependencies"]
    distributions = {"pyjwt": "jwt", "confluent-kafka": "confluent_kafka"}
    found = {
        distributions.get(name, name)
        for extra in set(EXTRAS.values()) | {"parquet"}
        for line in given[extra]
        for name in [re.split(r"[^\w-]", line)[0]]
    }
    assert found == set(EXTRAS) - {"py4j"}
    extras = set(given) - {"all", "test", "dev", "dev-spark", "docs", "page", "release"}
    assert extras == set(EXTRAS.values()) | {"parquet"}


def imported(path: Path) -> set[str]:
    """The modules that a file imports when it runs, without those for types alone."""
    found: set[str] = set()
    source = path.read_text()
    if not any(each in source for each in EXTRAS):
        return found  # most files; to parse them takes longer
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found


def test_each_use_of_an_extra_has_a_row() -> None:
    """What is in `spark/` is met by `audit`, `demo` and the programs; pytest loads its plugin."""
    found = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        if room != "spark"
        for path in files_in(room)
        if "museum/programs" not in str(path) and not path.name.startswith("pytest_")
        if imported(path) & set(EXTRAS)
    }
    assert found == set(PLACES)
    assert set(PLACES.values()) - {""} <= set(COMMANDS)
