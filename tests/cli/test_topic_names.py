"""A topic that Kafka cannot have is refused, wherever it is named, and never cut to one that it can have."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cli import run

IMPOSSIBLE = ("a\nb", "a%0Ab", "a%0a", "a\t", "\ra", "a b", "a ", "a%00", "a/b", "..", "%2e", "ü", "a;b", "a" * 250)
STATIC = ("..", ".", "a" * 250)
EXPRESSIONS = ("{schema}\\n", "a\\nb", " {schema}", "{schema}/{table}", "{table}_{schema}")


@pytest.fixture(autouse=True)
def _sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);")
    Path("plan.toml").write_text(
        '[[table]]\ndefinition = "CREATE TABLE t (id INT PRIMARY KEY)"\nrows = 20\nmix = {inserts = 1}\n'
    )


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which the command ends, and nothing is written."""
    assert run(arguments) == 2
    output = capsys.readouterr()
    lines = [line for line in output.err.splitlines() if line.startswith("ticdc-sim: ")]
    assert output.out == "" and len(lines) == 1 and not Path("out").exists()
    return lines[0]


@pytest.mark.parametrize("topic", IMPOSSIBLE)
def test_no_address_has_a_topic_that_kafka_refuses(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    uri = f"kafka://127.0.0.1:9/{topic}"
    sent = f"{uri}?protocol=canal-json"
    for arguments in (
        ("run", "s.sql", "--fixtures", "out", "--sink-uri", sent),
        ("load", "plan.toml", "--fixtures", "out", "--duration", "1s", "--sink-uri", sent),
        ("shell", "--console", "--sink-uri", sent),
        ("explain", "ddl", "DROP TABLE t", "--sink-uri", sent),
        ("inspect", uri),
        ("verify", uri),
        ("verify", f"kafka://127.0.0.1:9/good,{topic}"),
        ("compare", uri, uri),
    ):
        message = refusal(capsys, *arguments)
        assert "Kafka takes letters, digits" in message or "invalid control character" in message, arguments


@pytest.mark.parametrize("topic", IMPOSSIBLE)
def test_no_scenario_has_one(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = topic.encode("unicode_escape").decode().replace("\\x", "\\u00")
    Path("run.toml").write_text(f'sink-uri = "kafka://h:1/{text}?protocol=simple"\n[[step]]\nsql-file = "s.sql"\n')
    message = refusal(capsys, "run", "run.toml", "--fixtures", "out")
    assert "Kafka takes letters, digits" in message or "invalid control character" in message


@pytest.mark.parametrize("topic", [*STATIC, *EXPRESSIONS])
def test_no_rule_of_a_dispatcher_has_one(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """TiCDC sends a name without placeholders as it is; it replaces and cuts names of schemas and tables only."""
    Path("feed.toml").write_text(f'[[sink.dispatchers]]\nmatcher = ["*.*"]\ntopic = "{topic}"\n')
    message = refusal(capsys, "run", "s.sql", "--fixtures", "out", "--config", "feed.toml")
    assert ("Kafka takes letters, digits" if topic in STATIC else "CDC:ErrKafkaTopicExprInvalid") in message
