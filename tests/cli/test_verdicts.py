"""The verdicts of `verify`: RIGHT, UNPROVED and WRONG, as a user meets them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import play, said

pytestmark = pytest.mark.usefixtures("here")

CANAL = "kafka://127.0.0.1:9092/t?protocol=canal-json&partition-num=1"
MADE = ("--fixtures", "out", "--truth", "truth")
TRUTH = ("--truth", "truth")
OPEN = ("--release", "v8.5.3")
"""Without a truth."""


def played(sql: str, *options: object, uri: str = CANAL, release: str = "v8.5.3") -> None:
    Path("s.sql").write_text(sql)
    assert play("run", "s.sql", "--sink-uri", uri, "--release", release, *MADE, *options) == 0


def change(changed: Callable[[str], str | None]) -> None:
    """Let another program change the values of messages, or lose them."""
    for shard in Path("out").glob("*/*.jsonl"):
        lines: list[dict[str, object]] = []
        for line in map(json.loads, shard.read_text().splitlines()):
            value = changed(base64.b64decode(line["value"]).decode())
            if value is not None:
                lines.append({**line, "value": base64.b64encode(value.encode()).decode(), "offset": len(lines)})
        shard.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def verdict(*options: object) -> tuple[int, str]:
    """Exit code and first line of `verify`."""
    code, out, _ = said("verify", "out", *options)
    return code, out.splitlines()[0]


TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"
ALTERED = f"{TABLE} ALTER TABLE t ADD COLUMN c DECIMAL(10,2); INSERT INTO t VALUES (2, 6, 1.5);"


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        (',"v":"5"', "", "message-different (1)"),
        ('"mysqlType":{"id":"int"', '"mysqlType":{"id":"bigint"', "message-different"),
        ("ADD COLUMN", None, "ddl-missing"),
        ("DECIMAL(10,2)", "DECIMAL(10,4)", "ddl-different"),
    ],
)
def test_what_was_changed_on_the_way_is_wrong(old: str, new: str | None, check: str) -> None:
    """Every other change: tests/consumer/test_mutants.py."""
    played(ALTERED)
    change(lambda value: value if old not in value else None if new is None else value.replace(old, new))
    code, line = verdict(*TRUTH)
    assert (code, line.startswith("WRONG: "), check in line) == (1, True, True), line


def test_without_settings_a_lost_column_is_unproved() -> None:
    played(TABLE)
    change(lambda value: value.replace(',"v":"5"', ""))
    code, line = verdict(*OPEN)
    assert code == 4
    assert line.startswith("UNPROVED: nothing is wrong, but values of test.t: v (1) could not be compared; ")


DEBEZIUM = CANAL.replace("canal-json", "debezium")
REFERENCES = """
    CREATE TABLE par (id INT PRIMARY KEY); CREATE TABLE chi (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES par (id));
    INSERT INTO par VALUES (1), (2); INSERT INTO chi VALUES (1, 1);
    SET foreign_key_checks = 0;
    TRUNCATE TABLE par; INSERT INTO par VALUES (1);
    DROP TABLE par; CREATE TABLE par (id INT PRIMARY KEY); INSERT INTO par VALUES (1), (2);
"""
DEFAULTS = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, y YEAR DEFAULT 2001);"
    "INSERT INTO t VALUES (1, NULL, NULL), (2, 5, 2001);"
)
DATABASES = (
    "CREATE DATABASE s; CREATE DATABASE u; CREATE TABLE s.a (id INT PRIMARY KEY); CREATE TABLE u.a LIKE s.a;"
    "INSERT INTO u.a VALUES (1);"
)
CHARSET = "CREATE DATABASE s CHARACTER SET binary; CREATE TABLE s.a (id VARCHAR(10) PRIMARY KEY); INSERT INTO s.a VALUES ('ab');"


@pytest.mark.parametrize(
    ("sql", "uri", "release"),
    [
        pytest.param(REFERENCES, CANAL, "v8.5.3", id="a referenced table may be emptied without foreign_key_checks"),
        pytest.param(DEFAULTS, DEBEZIUM, "v8.5.7", id="NULL and the default are one in Debezium, in a YEAR, too"),
        pytest.param(DATABASES, DEBEZIUM, "v8.5.3", id="a truth tells of databases where the stream has no statements"),
        pytest.param(CHARSET, DEBEZIUM, "v8.5.3", id="and of their charsets"),
    ],
)
def test_what_the_upstream_accepted_is_right(sql: str, uri: str, release: str) -> None:
    played(sql, uri=uri, release=release)
    code, line = verdict(*TRUTH)
    assert (code, line.split(":")[0]) == (0, "RIGHT"), line


@pytest.mark.slow
def test_rows_that_no_message_is_about_are_proved_by_the_number_of_changes() -> None:
    """Of a diff whose rows at the start nobody tells: a lost change is wrong, and none is lost where the number fits."""
    for name, rows in (("before", "1,1\n2,2\n3,3\n"), ("after", "1,1\n2,9\n3,8\n")):
        Path(name).mkdir()
        Path(name, "d.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
        Path(name, "d.t.csv").write_text(rows)
    assert play("diff", "before", "after", *MADE) == 0
    assert play("verify", "out", *TRUTH) == 0

    shard = next(path for path in Path("out").glob("*/*.jsonl") if '"u"' in path.read_text())
    lines = list(map(json.loads, shard.read_text().splitlines()))
    first = next(place for place, line in enumerate(lines) if '"u"' in json.dumps(line["events"]))
    kept = [{**line, "offset": offset} for offset, line in enumerate([*lines[:first], *lines[first + 1 :]])]
    shard.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    assert play("verify", "out", *TRUTH) == 1


WATERMARKS = 2
"""Those of a run with TABLE."""


def test_what_comes_after_the_run_of_the_truth_is_unproved() -> None:
    marks: list[str] = []

    def changed(value: str) -> str:
        """The last watermark is a day later."""
        marks.extend(re.findall(r'"type":"WATERMARK","commitTs":(\d+)', value))
        return value.replace(marks[-1], str(int(marks[-1]) + (86_400_000 << 18))) if len(marks) == WATERMARKS else value

    played(TABLE, uri=CANAL.replace("canal-json", "simple"))
    change(changed)
    code, line = verdict(*TRUTH)
    assert (code, line.partition(" (")[0].partition(" up to")[0]) == (4, "UNPROVED: nothing is wrong, but watermarks")


@pytest.mark.slow
def test_an_update_without_its_old_row_is_one_of_a_row_that_is_there() -> None:
    """In Debezium, whose UPDATEs say what they are: one without `before` is no INSERT."""
    Path("c.toml").write_text("[sink.debezium]\noutput-old-value = false\n")
    played(f"{TABLE} UPDATE t SET v = 6", "--config", "c.toml", uri=DEBEZIUM)
    assert verdict(*TRUTH)[1].startswith("RIGHT")
    assert verdict(*OPEN)[1].startswith("UNPROVED")
    change(lambda value: None if '"op":"c"' in value else value)
    assert "row-not-there (1)" in verdict(*TRUTH)[1]


SIMPLE = CANAL.replace("canal-json", "simple")
FIRST = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); ALTER TABLE t ADD n INT FIRST; INSERT INTO t VALUES (3, 1, 'a');"


@pytest.mark.parametrize(
    ("architecture", "sql", "verdict_of"),
    [
        ("classic", f"{FIRST} UPDATE t SET v = 'b'; DELETE FROM t; INSERT INTO t VALUES (4, 2, 'c')", (4, "UNPROVED")),
        ("new", f"{FIRST} UPDATE t SET v = 'b'", (0, "RIGHT")),
    ],
)
def test_where_ticdc_mistakes_columns_nothing_is_proved(
    architecture: str, sql: str, verdict_of: tuple[int, str]
) -> None:
    """In Simple, once a BOOTSTRAP has sorted them."""
    played(sql, "--architecture", architecture, uri=SIMPLE, release="v8.5.7")
    code, line = verdict(*TRUTH)
    assert (code, line.partition(":")[0]) == verdict_of, line
