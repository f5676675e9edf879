"""The verdicts of `verify`: RIGHT, UNPROVED and WRONG, as a user meets them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import play

Verdict = Callable[..., tuple[int, str]]

CANAL = "kafka://127.0.0.1:9092/t?protocol=canal-json&partition-num=1"


@pytest.fixture
def verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verdict:
    """Exit code and first line of `verify`; `changed` is what another program makes of the values of messages."""

    def verify(
        sql: str,
        *options: object,
        uri: str = CANAL,
        release: str = "v8.5.3",
        changed: Callable[[str], str | None] = str,
    ) -> tuple[int, str]:
        story, out, truth = tmp_path / "s.sql", tmp_path / "out", tmp_path / "truth"
        story.write_text(sql)
        options = options or ("--truth", truth)
        made = ("--sink-uri", uri, "--release", release, "--fixtures", out, "--truth", truth)
        assert play("run", story, *made) == 0
        for shard in out.glob("*/*.jsonl"):
            values: list[dict[str, object]] = []
            for line in map(json.loads, shard.read_text().splitlines()):
                value = changed(base64.b64decode(line["value"]).decode())
                if value is not None:
                    values.append({**line, "value": base64.b64encode(value.encode()).decode(), "offset": len(values)})
            shard.write_text("".join(f"{json.dumps(line)}\n" for line in values))
        capsys.readouterr()
        code = play("verify", out, *options)
        return code, capsys.readouterr().out.splitlines()[0]

    return verify


TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"


def test_a_lost_column_is_wrong(verdict: Verdict) -> None:
    code, said = verdict(TABLE, changed=lambda value: value.replace(',"v":"5"', ""))
    assert (code, said) == (1, "WRONG: message-different (1)")


def test_without_settings_a_lost_column_is_unproved(verdict: Verdict) -> None:
    """A column selector may have left it out."""
    code, said = verdict(TABLE, "--release", "v8.5.3", changed=lambda value: value.replace(',"v":"5"', ""))
    assert code == 4
    assert said.startswith("UNPROVED: nothing is wrong, but values of test.t: v (1) could not be compared; ")


ALTERED = f"{TABLE} ALTER TABLE t ADD COLUMN c DECIMAL(10,2); INSERT INTO t VALUES (2, 6, 1.5);"


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("ADD COLUMN", None, "ddl-missing"),
        ('"isDdl":true', None, "ddl-missing"),
        ("DECIMAL(10,2)", "DECIMAL(10,4)", "ddl-different"),
        ("INT PRIMARY KEY", "INT", "ddl-different"),
        ("ADD COLUMN `c`", "ADD COLUMN `x` INT,ADD COLUMN `c`", "ddl-different"),
        ('"mysqlType":{"id":"int"', '"mysqlType":{"id":"bigint"', "message-different"),
        ('"pkNames":["id"]', '"pkNames":["v"]', "message-different"),
        ('"database":"test"', '"database":"Test"', "message-different"),
    ],
)
def test_what_was_changed_on_the_way_is_wrong(verdict: Verdict, old: str, new: str | None, check: str) -> None:
    def changed(value: str) -> str | None:
        return value if old not in value else None if new is None else value.replace(old, new)

    code, said = verdict(ALTERED, changed=changed)
    assert (code, said.startswith("WRONG: "), check in said) == (1, True, True), said


def test_statements_that_the_upstream_accepted_are_replayed(verdict: Verdict) -> None:
    """Under foreign_key_checks = 0 a referenced table may be emptied, dropped and created again."""
    code, said = verdict("""
        CREATE TABLE par (id INT PRIMARY KEY); CREATE TABLE chi (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES par (id));
        INSERT INTO par VALUES (1), (2); INSERT INTO chi VALUES (1, 1);
        SET foreign_key_checks = 0;
        TRUNCATE TABLE par; INSERT INTO par VALUES (1);
        DROP TABLE par; CREATE TABLE par (id INT PRIMARY KEY); INSERT INTO par VALUES (1), (2);
    """)
    assert (code, said.split(":")[0]) == (0, "RIGHT")


def test_null_and_the_default_are_one_in_debezium(verdict: Verdict) -> None:
    """Even where the message writes the default of a YEAR as a text."""
    table = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, y YEAR DEFAULT 2001);"
    code, said = verdict(
        f"{table} INSERT INTO t VALUES (1, NULL, NULL), (2, 5, 2001);",
        uri=CANAL.replace("canal-json", "debezium"),
        release="v8.5.7",
    )
    assert (code, said.split(":")[0]) == (0, "RIGHT")


def test_rows_that_no_message_is_about_are_proved_by_the_number_of_changes(tmp_path: Path) -> None:
    """Of a diff whose rows at the start nobody tells: a lost change is wrong, and none is lost where the number fits."""
    for name, rows in (("before", "1,1\n2,2\n3,3\n"), ("after", "1,1\n2,9\n3,8\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
        (tmp_path / name / "d.t.csv").write_text(rows)
    out, truth = tmp_path / "out", tmp_path / "truth"
    assert play("diff", tmp_path / "before", tmp_path / "after", "--fixtures", out, "--truth", truth) == 0
    assert play("verify", out, "--truth", truth) == 0

    shard = next(path for path in out.glob("*/*.jsonl") if '"u"' in path.read_text())
    lines = list(map(json.loads, shard.read_text().splitlines()))
    first = next(place for place, line in enumerate(lines) if '"u"' in json.dumps(line["events"]))
    kept = [{**line, "offset": offset} for offset, line in enumerate([*lines[:first], *lines[first + 1 :]])]
    shard.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    assert play("verify", out, "--truth", truth) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE DATABASE s; CREATE DATABASE u; CREATE TABLE s.a (id INT PRIMARY KEY); CREATE TABLE u.a LIKE s.a; "
        "INSERT INTO u.a VALUES (1);",
        "CREATE DATABASE s CHARACTER SET binary; CREATE TABLE s.a (id VARCHAR(10) PRIMARY KEY); "
        "INSERT INTO s.a VALUES ('ab');",
    ],
)
def test_a_truth_tells_of_databases(verdict: Verdict, sql: str) -> None:
    """And in which charset their tables are, where the stream has no statements."""
    code, said = verdict(sql, uri="kafka://127.0.0.1:9092/t?protocol=debezium")
    assert code == 0, said


WATERMARKS = 2
"""Those of a run with TABLE."""


def test_what_comes_after_the_run_of_the_truth_is_unproved(verdict: Verdict) -> None:
    uri = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=1"
    marks: list[str] = []

    def changed(value: str) -> str:
        """The last watermark is a day later."""
        marks.extend(re.findall(r'"type":"WATERMARK","commitTs":(\d+)', value))
        return value.replace(marks[-1], str(int(marks[-1]) + (86_400_000 << 18))) if len(marks) == WATERMARKS else value

    code, said = verdict(TABLE, uri=uri, changed=changed)
    assert (code, said.partition(" (")[0].partition(" up to")[0]) == (4, "UNPROVED: nothing is wrong, but watermarks")


@pytest.mark.parametrize(
    ("options", "lost", "said"),
    [("--truth", True, "row-not-there (1)"), ("--truth", False, "RIGHT"), ("--release", False, "UNPROVED")],
)
def test_an_update_without_its_old_row_is_one_of_a_row_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, lost: bool, said: str
) -> None:
    """In Debezium, whose UPDATEs say what they are: one without `before` is no INSERT."""
    story, config, out, truth = (tmp_path / name for name in ("s.sql", "c.toml", "out", "truth"))
    story.write_text(f"{TABLE} UPDATE t SET v = 6")
    config.write_text("[sink.debezium]\noutput-old-value = false\n")
    uri = CANAL.replace("canal-json", "debezium")
    made = ("--sink-uri", uri, "--release", "v8.5.3", "--config", config, "--fixtures", out, "--truth", truth)
    assert play("run", story, *made) == 0
    (shard,) = out.glob("*/*.jsonl")
    if lost:
        lines = list(map(json.loads, shard.read_text().splitlines()))[1:]
        shard.write_text("".join(f"{json.dumps({**line, 'offset': at})}\n" for at, line in enumerate(lines)))
    capsys.readouterr()

    play("verify", out, *(("--truth", truth) if options == "--truth" else ("--release", "v8.5.3")))

    assert said in capsys.readouterr().out.splitlines()[0]
