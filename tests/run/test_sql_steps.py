"""SQL in a run: what a MySQL client would send, and the messages of what it commits."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.databases import Table, write
from support.playing import error_of, play
from support.processes import started

from simulator import TiCDC, releases, tso
from simulator.errors import EncodeError
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark, decode
from simulator.reader.records import read_records
from simulator.run.plan.step import PlanContext, starting
from simulator.run.plan.upstream_rows import read_rows
from simulator.run.steps.execution import execute_statement
from simulator.run.steps.snapshot import SnapshotStep
from simulator.ticdc.changefeed import load_file
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.syntax.expressions import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2"
START_MS = 1_735_689_600_000
"""2025-01-01, where runs begin that say nothing else."""

SHOP = """\
CREATE DATABASE shop;
USE shop;
CREATE TABLE item (id BIGINT PRIMARY KEY, code VARCHAR(9) NOT NULL UNIQUE, stock INT DEFAULT 1);
INSERT INTO item VALUES (1, 'pen', 5), (2, 'ink', 7), (3, 'cap', 0);
"""
RICH = (
    SHOP
    + """\
CREATE TABLE log (line VARCHAR(20), at INT NOT NULL, UNIQUE KEY by_time (at));
CREATE TABLE part (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (
  PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
INSERT INTO log VALUES ('first', 1), ('second', 2), ('third', 3);
INSERT INTO part VALUES (1, 1), (11, 11), (2, 2);
BEGIN;
UPDATE item SET code = CONCAT(code, '!') WHERE id < 3;
UPDATE log SET at = at + 10;
DELETE FROM item WHERE id = 3;
INSERT INTO item VALUES (4, 'cap', 4);
COMMIT;
UPDATE part SET id = id + 12 WHERE id < 10;
ALTER TABLE item ADD COLUMN c INT DEFAULT 3;
UPDATE item SET c = id;
TRUNCATE TABLE log;
INSERT INTO log VALUES ('again', 1);
RENAME TABLE part TO parts;
DELETE FROM parts ORDER BY id DESC LIMIT 1;
"""
)


def story(directory: Path, text: str, name: str = "story.sql") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def played(path: Path, *options: object) -> list[Event]:
    """The events of each partition, one partition after the other."""
    out = path.parent / "out"
    assert play("run", path, "--fixtures", out, *options) == 0
    return [event for record in read_records(str(out)) for event in decode(record.key, record.value)]


def rows(events: Sequence[Event]) -> list[RowEvent]:
    """In the order of their commit-ts."""
    found = [event for event in events if isinstance(event, RowEvent)]
    return sorted(found, key=lambda event: event.commit_ts or 0)


def value(image: Mapping[str, Any] | None, column: str) -> Any:
    return (image or {}).get(column)


def changes(events: Sequence[Event]) -> list[tuple[str, Any, Any]]:
    """Operation, `id` and the new `stock` of all rows."""
    return [(event.op, value(event.after or event.before, "id"), value(event.after, "stock")) for event in rows(events)]


def fixtures(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*.jsonl"))}


def test_a_file_of_sql_is_played_as_a_client_would_send_it(tmp_path: Path) -> None:
    """Each statement and each transaction in a millisecond of its own."""
    text = SHOP + "BEGIN; UPDATE item SET stock = 4 WHERE id = 1; DELETE FROM item WHERE id = 2; COMMIT;"
    events = played(story(tmp_path, text), "--sink-uri", URI)
    times = {event.commit_ts >> 18 for event in events if isinstance(event, RowEvent | DdlEvent) and event.commit_ts}
    assert [time - START_MS for time in sorted(times)] == [1, 2, 3, 4]
    assert changes(events) == [
        ("INSERT", "1", "5"),
        ("INSERT", "2", "7"),
        ("INSERT", "3", "0"),
        ("DELETE", "2", None),
        ("UPDATE", "1", "4"),
    ]


def test_what_is_spread_takes_its_time(tmp_path: Path) -> None:
    """`over` is divided evenly among statements and transactions; NOW() is the time of the statement."""
    text = """
[[step]]
over = "10s"
sql = '''
CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(3));
INSERT INTO t VALUES (1, NOW(3));
BEGIN;
INSERT INTO t VALUES (2, NOW(3));
INSERT INTO t VALUES (3, NOW(3));
COMMIT;
-- fails 1062
INSERT INTO t VALUES (3, NOW(3));
INSERT INTO t VALUES (4, NOW(3));
'''
"""
    events = played(story(tmp_path, text, "story.toml"))
    found = rows(events)
    assert [((event.commit_ts or 0) >> 18) - START_MS for event in found] == [2501, 5001, 5001, 7501]
    assert [value(event.after, "at") for event in found] == [
        f"2025-01-01 00:00:{second}" for second in ("02.501", "05.001", "05.001", "07.501")
    ]
    assert max(event.ts >> 18 for event in events if isinstance(event, Watermark)) == START_MS + 10_001


TAKEN = "INSERT INTO item VALUES (3, 'x', 1);"
DUPLICATE = "story.sql:6: INSERT INTO item VALUES (3, 'x', 1): ERROR 1062 (23000): Duplicate entry '3' for key"
UNKNOWN = "ERROR 1146 (42S02): Table 'test.nowhere' doesn't exist"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{SHOP}\n{TAKEN}", [DUPLICATE, "`-- fails 1062`"]),
        (SHOP + "-- fails 1062\nINSERT INTO item VALUES (9, 'x', 1);", ["story.sql:6:", "it succeeds", "fails 1062"]),
        (f"{SHOP}-- fails 1048\n{TAKEN}", ["ERROR 1062", "expected was error 1048"]),
        (
            "SELEC 1;\nCREATE TABLE t (id INT PRIMARY KEY);\nINSERT t VALUES;",
            ["story.sql:1: SELEC 1:", "story.sql:3: INSERT"],
        ),
        ("", ["story.sql: it has no statement"]),
        ("-- nothing\n", ["story.sql: it has no statement"]),
        (f"{SHOP}-- fails\n{TAKEN}", ["story.sql", "line 5", "`-- fails` names no error"]),
        (f"{SHOP}-- fails xx\n{TAKEN}", ["line 5", "expected is `-- fails 1062`"]),
        (f"{SHOP}-- fails: 1062\n{TAKEN}", ["line 5", "expected is `-- fails 1062`"]),
        (f"{SHOP}-- fails 62\n{TAKEN}", ["line 5", "expected is `-- fails 1062`"]),
        ("INSERT INTO nowhere VALUES (1);", ["story.sql:1:", UNKNOWN]),
        ("SELECT 'abc;", ["story.sql", "line 1"]),
        ("LOAD DATA INFILE 'x' INTO TABLE t;", ["story.sql:1:", "LOAD DATA"]),
        (b"\x00\x01", ["story.sql", "NUL"]),
        (b"\xff\xfe\x00", ["story.sql", "is not UTF-8"]),
        (None, ["story.sql", "cannot read"]),
    ],
)
def test_what_cannot_be_played_is_named_by_its_line(tmp_path: Path, text: str | bytes | None, words: list[str]) -> None:
    """Before anything is sent: all that is no SQL at once, else the first statement that fails."""
    path = tmp_path / "story.sql"
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    said = error_of("run", path, "--fixtures", tmp_path / "out")
    assert ([word for word in words if word not in said], said) == ([], said)
    assert "Traceback" not in said and not (tmp_path / "out").exists()


@pytest.mark.parametrize("step", ["", "sql-file = 'story.sql'"], ids=["run", "sql-file"])
def test_a_carriage_return_in_a_text_reaches_the_row(tmp_path: Path, step: str) -> None:
    """The file's lines may end in CR LF as well; a byte order mark before them is no SQL."""
    text = "\ufeffCREATE TABLE t (id INT PRIMARY KEY, v TEXT);\r\nINSERT INTO t VALUES (1, 'a\r\nb\rc');\r\n"
    path = tmp_path / "story.sql"
    path.write_bytes(text.encode())
    path = story(tmp_path, f"[[step]]\n{step}\n", "story.toml") if step else path
    assert [value(event.after, "v") for event in rows(played(path))] == ["a\r\nb\rc"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("sql-file = 'story.sql'\ncharset = 'gbk'", ""),
        ("sql-file = 'story.sql'", "not UTF-8"),
        ("sql-file = 'story.sql'\ncharset = 'cp850'", "charset 'cp850' is not read: accepted are utf8mb4, latin1, gbk"),
        ("sql = 'SELECT 1'\ncharset = 'gbk'", "charset: only a snapshot and a file of SQL have a character set"),
    ],
)
def test_a_step_reads_a_file_of_another_character_set(tmp_path: Path, step: str, words: str) -> None:
    text = "CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, '謀文')"
    (tmp_path / "story.sql").write_bytes(text.encode("gbk"))
    path = story(tmp_path, f"[[step]]\n{step}\n", "story.toml")
    if not words:
        assert [value(event.after, "v") for event in rows(played(path))] == ["謀文"]
        return
    assert words in error_of("run", path, "--sink-uri", URI, "--fixtures", tmp_path / "out")


def test_an_open_transaction_ends_with_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = changes(played(story(tmp_path, SHOP + "BEGIN; DELETE FROM item;")))
    assert [op for op, _, _ in found] == ["INSERT", "INSERT", "INSERT"]
    assert "the last transaction is left open, so it is rolled back" in capsys.readouterr().err


def test_rows_of_tables_that_are_not_replicated_are_left_out(tmp_path: Path) -> None:
    """By the filter, or for want of a valid index, until a statement gives them one."""
    config = tmp_path / "changefeed.toml"
    config.write_text("[filter]\nrules = ['shop.*']\n")
    text = (
        SHOP
        + """
CREATE TABLE test.other (id INT PRIMARY KEY);
INSERT INTO test.other VALUES (1);
CREATE TABLE bare (id INT NOT NULL);
INSERT INTO bare VALUES (1);
ALTER TABLE bare ADD UNIQUE KEY u (id);
INSERT INTO bare VALUES (2);
"""
    )
    events = rows(played(story(tmp_path, text), "--config", config))
    assert [(event.table, value(event.after, "id")) for event in events[3:]] == [("bare", "2")]


@pytest.mark.slow
def test_a_process_that_plays_sql_starts_no_java(tmp_path: Path) -> None:
    """pyspark is not even imported, nor pandas."""
    code = (
        "import sys; from simulator.cli import run; code = run(sys.argv[1:]); "
        "sys.exit(code or (7 if {'pyspark', 'pandas', 'fsspec'} & sys.modules.keys() else 0))"
    )
    command = [sys.executable, "-c", code, "run", story(tmp_path, SHOP), "--fixtures", tmp_path / "out"]
    assert subprocess.run(list(map(str, command)), check=False, capture_output=True).returncode == 0


def week(directory: Path, *steps: str) -> Path:
    """A scenario of those steps, beside the snapshots of a table on two days."""
    definition = "CREATE TABLE `item` (`id` int PRIMARY KEY, `name` varbinary(9), `price` decimal(6,2))"
    for day, price in (("monday", "1.50"), ("tuesday", "2.00")):
        write(directory / day, [Table(definition, [[1, b"\xff\xfe", price], [2, b"b", "0.10"]], [])], 0)
    return story(directory, "".join(f"[[step]]\n{step}\n" for step in steps), "week.toml")


def test_sql_and_snapshots_see_each_other_s_rows(tmp_path: Path) -> None:
    """Statements find the rows of the snapshot before them; a snapshot is compared with what statements left."""
    path = week(
        tmp_path,
        'snapshot = "monday"',
        'sql = "UPDATE shop.item SET price = price * 2 WHERE id = 1"',
        'snapshot = "tuesday"\nover = "1s"',
        'sql = "DELETE FROM shop.item"',
    )
    found = rows(played(path, "--master", "none"))
    assert [(event.op, value(event.before, "price"), value(event.after, "price")) for event in found] == [
        ("UPDATE", "1.50", "3.00"),
        ("UPDATE", "3.00", "2.00"),
        ("DELETE", "2.00", None),
        ("DELETE", "0.10", None),
    ]


STATES = """
USE shop;
CREATE TABLE tag (item INT PRIMARY KEY, FOREIGN KEY (item) REFERENCES item (id));
INSERT INTO tag SELECT id FROM item WHERE id = 2;
"""


@pytest.mark.parametrize(
    ("statement", "sent"),
    [
        ("CREATE TABLE copy LIKE item; INSERT INTO copy SELECT * FROM item", ["copy", "copy"]),
        ("UPDATE tag SET item = 1 WHERE item = (SELECT MAX(id) FROM item)", ["tag", "tag"]),
        ("INSERT INTO tag WITH some AS (SELECT * FROM item WHERE id = 1) SELECT id FROM some", ["tag"]),
        ("DELETE tag FROM tag JOIN item ON tag.item = item.id", ["tag"]),
        ("-- fails 1451\nDELETE FROM item", []),
        ("-- fails 1452\nINSERT INTO tag VALUES (3)", []),
    ],
)
def test_a_statement_finds_rows_of_every_table_it_leads_to(tmp_path: Path, statement: str, sent: list[str]) -> None:
    """By a foreign key, in a subquery, in WITH, in SELECT behind INSERT."""
    path = week(tmp_path, 'snapshot = "monday"', f"sql = '''{STATES}'''", f"sql = '''\n{statement}'''")
    found = rows(played(path, "--master", "none"))
    assert [event.table for event in found] == ["tag", *sent]


def test_the_tables_under_a_view_are_read_with_it(tmp_path: Path) -> None:
    """Through another view, too; a name without a database is one in the view's own."""
    week(tmp_path)
    release = releases.find(releases.DEFAULT)
    context = PlanContext(changefeed_rules(load_file(URI, None, release), release), None, None)
    position, _ = SnapshotStep(tmp_path / "monday").plan(starting(tso.DEFAULT_START_TS), context)
    for text in (
        "USE shop",
        "CREATE VIEW low AS SELECT * FROM item",
        "CREATE DATABASE test",
        "CREATE VIEW test.lower AS SELECT * FROM shop.low",
    ):
        position, *_ = execute_statement(text, position, context)
    assert isinstance(position.state, Upstream)
    left = read_rows(position, position.state, TableName("test", "lower"))
    assert len(position.state.rows(position.catalog.tables["shop", "item"])) == 2
    assert left is not None and not left.tables


def test_a_table_that_a_snapshot_has_not_goes_with_it(tmp_path: Path) -> None:
    other = 'sql = "CREATE DATABASE shop; CREATE TABLE shop.other (id INT PRIMARY KEY)"'
    events = played(week(tmp_path, other, 'snapshot = "monday"\nover = "1s"'), "--master", "none")
    statements = dict.fromkeys(event.query for event in events if isinstance(event, DdlEvent))
    assert [" ".join(text.split()[:3]) for text in statements] == [
        "CREATE DATABASE `shop`",
        "CREATE TABLE `shop`.`other`",
        "CREATE TABLE `item`",
        "DROP TABLE `shop`.`other`",
    ]
    assert [event.op for event in rows(events)] == ["INSERT", "INSERT"]


def test_both_engines_give_the_same_fixtures(spark: SparkSession, tmp_path: Path) -> None:
    """What is asked of `run` with Spark: tables without a clustered key and with partitions, a key that is updated, DDL
    among the rows."""
    path = story(tmp_path, RICH)
    for master in ("none", "local[2]"):
        options = ("--sink-uri", URI, "--release", "v6.5.3", "--master", master, "--fixtures", tmp_path / master)
        assert play("run", path, *options) == 0
    assert fixtures(tmp_path / "none") == fixtures(tmp_path / "local[2]") != {}


@pytest.mark.slow
def test_watermarks_come_in_real_time_while_a_wait_passes(tmp_path: Path) -> None:
    """Between two steps of SQL; the lines of a process are read as they come."""
    path = story(
        tmp_path,
        'resolved-interval = "250ms"\nspeed = 1\n'
        '[[step]]\nsql = "CREATE TABLE t (id INT PRIMARY KEY)"\n'
        '[[step]]\nwait = "1s"\n[[step]]\nsql = "INSERT INTO t VALUES (1)"\n',
        "story.toml",
    )
    began: list[float] = []
    with started("run", path, "--console", "--sink-uri", URI) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("shop/0@") and "WATERMARK" in line:
                began.append(time.monotonic())
    assert len(began) >= 5 and 0.6 < began[-1] - began[0] < 10


EMPTY_CHANGES = {
    "default": [b"{}", b'{"u":{"id":{"t":3,"h":true,"f":11,"v":2}}}'],
    "canal-json": [
        b'"pkNames":[],"isDdl":false,"type":"INSERT"',
        b'"sqlType":{},"mysqlType":{},"data":[null],"old":[null]}',
    ],
    "maxwell": [b'{"database":"test","table":"t","type":"insert","ts":1735689600}'],
}
"""What is only in messages of a row that a transaction inserts and deletes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "protocols"),
    [
        ("v4.0.14", ["default", "canal-json", "maxwell"]),
        ("v4.0.15", ["canal-json", "maxwell"]),
        ("v4.0.16", []),
        ("v5.0.3", ["default", "canal-json", "maxwell"]),
        ("v5.0.4", ["canal-json", "maxwell"]),
        ("v5.1.1", ["default", "canal-json", "maxwell"]),
        ("v5.2.3", ["canal-json", "maxwell"]),
        ("v5.2.4", []),
        ("v5.3.0", []),
    ],
)
def test_rows_that_came_and_went_are_empty_messages(release: str, protocols: list[str], tmp_path: Path) -> None:
    """TiDB deletes it from TiKV, where it is not; a single statement does not."""
    sql = (
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE id = 2; DELETE FROM t;\n"
    )
    inside = "BEGIN; INSERT INTO t VALUES (1); UPDATE t SET id = 2; COMMIT"
    (config := tmp_path / "changefeed.toml").write_text("enable-old-value = true\n")
    for protocol, only in EMPTY_CHANGES.items():
        out, truth = tmp_path / protocol, tmp_path / f"{protocol}-truth"
        options = "--release", release, "--config", config, "--sink-uri", f"kafka://a:9/t?protocol={protocol}"
        assert play("run", story(tmp_path, sql + inside), *options, "--fixtures", out, "--truth", truth) == 0
        values = [record.value or b"" for record in read_records(str(out))]
        found = [value for value in values if all(part in value for part in only)]
        assert len(found) == (protocol in protocols), (protocol, values)
        assert play("verify", out, "--truth", truth) == 0


GONE_KEYS = {
    "keyed": ["v4.0.3", "v4.0.14", "v5.0.3", "v5.1.0"],
    "clustered": ["v4.0.15", "v5.0.6", "v5.1.1", "v5.2.4", "v5.3.0", "v5.4.3"],
    "none": ["v6.0.0"],
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "release"), [(kind, tag) for kind, tags in GONE_KEYS.items() for tag in tags])
def test_without_old_values_a_lost_row_is_a_delete_by_key(kind: str, release: str, seed: int, tmp_path: Path) -> None:
    """TiCDC takes it from the key that TiDB deletes. tiflow cdc/entry/mounter.go."""
    chance = random.Random(f"{release} {seed}")
    ids = chance.sample(range(100), 6)
    gone, kept = ids[:3], ids[3:]
    rows = ", ".join(f"({id}, {id})" for id in ids)
    sql = "BEGIN; INSERT INTO {t} VALUES {rows}; UPDATE {t} SET a = 7; DELETE FROM {t} WHERE id IN {gone}; COMMIT"
    (config := tmp_path / "changefeed.toml").write_text("" if release == "v4.0.3" else "enable-old-value = false")
    with TiCDC(release, config=config) as ticdc:
        ticdc.execute(
            "CREATE TABLE c (id INT PRIMARY KEY, a INT); CREATE TABLE n (id CHAR(9) NOT NULL, a INT, UNIQUE (id))"
        )
        for table in "cn":
            ticdc.execute(sql.format(t=table, rows=rows, gone=tuple(map(str, gone))))
        events = [event for event in ticdc.events() if isinstance(event, RowEvent)]
    keys: dict[tuple[str, str], list[int]] = {}
    for event in events:
        image = (event.before if event.op == "DELETE" else event.after) or {}
        assert event.op != "DELETE" or set(image) == {"id"}
        keys.setdefault((event.op, event.table), []).append(int(image["id"] or 0))
    deleted = {table: sorted(keys.get(("DELETE", table), [])) for table in "cn"}
    assert deleted == {"c": sorted(gone) if kind != "none" else [], "n": sorted(gone) if kind == "keyed" else []}
    assert sorted(keys["INSERT", "c"]) == sorted(keys["INSERT", "n"]) == sorted(kept)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["open-protocol", "maxwell"])
def test_a_delete_of_a_row_that_was_not_there_is_right_without_old_values(protocol: str, tmp_path: Path) -> None:
    (config := tmp_path / "changefeed.toml").write_text("enable-old-value = false")
    sql = (
        "CREATE TABLE t (id INT PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE id = 1; COMMIT"
    )
    uri, out, truth = f"kafka://a:9/t?protocol={protocol}", tmp_path / "out", tmp_path / "truth"
    options = "--release", "v5.2.1", "--config", config, "--sink-uri", uri, "--fixtures", out, "--truth", truth
    assert play("run", story(tmp_path, sql), *options) == 0
    assert play("verify", out, "--truth", truth) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "key", "code"),
    [
        ("v5.0.3", "NONCLUSTERED", 0),
        ("v5.2.1", "CLUSTERED", 0),
        ("v5.2.1", "NONCLUSTERED", 1),
        ("v6.0.0", "CLUSTERED", 1),
    ],
)
def test_a_delete_of_a_row_that_is_not_there_is_wrong_where_no_transaction_leaves_one(
    release: str, key: str, code: int, tmp_path: Path
) -> None:
    """Elsewhere nothing tells the two apart: the sums of a truth alone do."""
    (config := tmp_path / "changefeed.toml").write_text("enable-old-value = false")
    sql = f"CREATE TABLE t (id INT PRIMARY KEY {key}); INSERT INTO t VALUES (1), (2); DELETE FROM t"
    out = tmp_path / "out"
    options = (
        "--release",
        release,
        "--config",
        config,
        "--sink-uri",
        "kafka://a:9/t?protocol=open-protocol&max-batch-size=1",
    )
    assert play("run", story(tmp_path, sql), *options, "--fixtures", out) == 0
    assert play("verify", out, *options) == 0
    for file in sorted(out.rglob("*.jsonl")):
        kept = [line for line in map(json.loads, file.read_text().splitlines()) if not _inserts(line)]
        file.write_text("".join(json.dumps(line | {"offset": offset}) + "\n" for offset, line in enumerate(kept)))
    assert play("verify", out, *options) == code


def _inserts(line: dict[str, Any]) -> bool:
    return b'"u"' in base64.b64decode(line["value"] or "")


def test_avro_stops_at_a_row_that_a_transaction_inserts_and_deletes() -> None:
    """The releases that encode it have no columns for its schema."""
    uri = "kafka://a:9/t?protocol=avro&registry=memory://"
    with TiCDC("v5.0.3", sink_uri=uri) as ticdc, pytest.raises(EncodeError, match="inserts and deletes.*v5.0.3"):
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1); DELETE FROM t; COMMIT")
