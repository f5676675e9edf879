"""Rows of tables with SOFTDELETE and ACTIVE_ACTIVE on the wire (ticdc v26.3.1: pkg/common/event/active_active.go)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.playing import play, said

from simulator import TiCDC
from simulator.errors import SqlError
from simulator.reader.events import DdlEvent, RowEvent

SOFT = "/*T![softdelete] SOFTDELETE=RETENTION 7 DAY */"
ACTIVE = f"/*T![active_active] ACTIVE_ACTIVE='ON' */ {SOFT}"
TABLE = f"CREATE TABLE t (id INT PRIMARY KEY, v INT) {SOFT}; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"
KAFKA = "kafka://h/t?protocol=canal-json&enable-tidb-extension=true"
FILES = "file:///tmp/f?protocol=canal-json&enable-tidb-extension=true"
BOTH_WAYS = {"bdr-mode": True, "enable-active-active": True}


def sent(
    statements: str, before: str = TABLE, sink_uri: str = KAFKA, config: Mapping[str, Any] | None = None
) -> list[str]:
    """The row changes of statements: their type, and the values before and after."""
    ticdc = TiCDC("v26.3.4", sink_uri=sink_uri, config=config)
    ticdc.execute(before)
    ticdc.events()
    ticdc.execute(statements)
    return [shown(event.op, event.before, event.after) for event in ticdc.events() if isinstance(event, RowEvent)]


def shown(type: str, *sides: Mapping[str, object] | None) -> str:
    texts = (",".join(_cell(name, cell) for name, cell in side.items()) for side in sides if side is not None)
    return f"{type} {' > '.join(texts)}"


def _cell(name: str, cell: object) -> str:
    return "marked" if name == "_tidb_softdelete_time" and cell is not None else str(cell)


OFF = "SET tidb_translate_softdelete_sql = OFF;"
CHANGES = [
    ("DELETE FROM t WHERE id = 1", ["DELETE 1,1,None"]),
    ("DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 9)", ["DELETE 1,1,None", "UPDATE 1,1,marked > 1,9,None"]),
    ("DELETE FROM t WHERE id = 1; RECOVER VALUES FROM t", ["DELETE 1,1,None", "UPDATE 1,1,marked > 1,1,None"]),
    (f"{OFF} DELETE FROM t", []),
    (f"DELETE FROM t WHERE id = 1; {OFF} DELETE FROM t WHERE id < 3", ["DELETE 1,1,None"]),
    (
        f"DELETE FROM t WHERE id = 1; {OFF} UPDATE t SET v = 9 WHERE id = 1",
        ["DELETE 1,1,None", "UPDATE 1,1,marked > 1,9,marked"],
    ),
    (f"{OFF} INSERT INTO t (id, _tidb_softdelete_time) VALUES (4, NOW())", ["INSERT 4,None,marked"]),
    (
        "BEGIN; UPDATE t SET v = 9; DELETE FROM t WHERE id = 2; COMMIT",
        ["UPDATE 1,1,None > 1,9,None", "DELETE 2,2,None", "UPDATE 3,3,None > 3,9,None"],
    ),
    ("BEGIN; INSERT INTO t VALUES (4, 4); DELETE FROM t WHERE id = 4; COMMIT", ["INSERT 4,4,marked"]),
    ("REPLACE INTO t VALUES (1, 9)", ["UPDATE 1,1,None > 1,9,None"]),
]


@pytest.mark.parametrize(("statements", "changes"), CHANGES)
def test_a_row_is_deleted_when_it_is_marked_and_not_when_it_is_removed(statements: str, changes: list[str]) -> None:
    assert sent(statements) == changes


def test_a_row_that_takes_the_place_of_a_marked_one_in_a_heap_is_inserted() -> None:
    heap = TABLE.replace("PRIMARY KEY", "PRIMARY KEY NONCLUSTERED")
    changes = sent("DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 9)", heap)
    assert changes == ["DELETE 1,1,None", "INSERT 1,9,None"]


def test_under_active_active_rows_are_sent_as_they_are_stored() -> None:
    statements = f"DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 9); {OFF} DELETE FROM t WHERE id = 1"
    changes = sent(statements, TABLE.replace(SOFT, ACTIVE), sink_uri=FILES, config=BOTH_WAYS)
    assert changes == ["UPDATE 1,1,None,None > 1,1,None,marked", "UPDATE 1,1,None,marked > 1,9,None,None"]


def test_event_filters_see_the_update_of_a_soft_delete() -> None:
    for ignored, changes in (("update", []), ("delete", ["DELETE 1,1,None"])):
        rule = {"matcher": ["*.*"], "ignore-event": [ignored]}
        found = sent("DELETE FROM t WHERE id = 1", config={"filter": {"event-filters": [rule]}})
        assert found == changes


RECORDED = """{"id":0,"database":"test_active","table":"message","pkNames":["id"],"isDdl":false,"type":"UPDATE","sql":"",\
"sqlType":{"id":4,"first_name":12,"last_name":12,"_tidb_origin_ts":-5,"_tidb_softdelete_time":93},\
"old":[{"id":"7","first_name":"g","last_name":"G","_tidb_origin_ts":"464074440387592202","_tidb_softdelete_time":null}],\
"data":[{"id":"7","first_name":"g","last_name":"G","_tidb_origin_ts":null,\
"_tidb_softdelete_time":"2026-02-05 22:58:40.992217"}]}"""
"""Of ticdc master, cmd/multi-cluster-consistency-checker/decoder/decoder_test.go, without mysqlType, which has a signed
BIGINT, and times."""


def test_a_soft_delete_is_as_ticdc_recorded_one() -> None:
    ticdc = TiCDC("v26.3.1", sink_uri=FILES, config=BOTH_WAYS)
    ticdc.execute(f"""
        CREATE DATABASE test_active; USE test_active;
        CREATE TABLE message (id INT PRIMARY KEY, first_name VARCHAR(100), last_name VARCHAR(100)) {ACTIVE};
        INSERT INTO message (id, first_name, last_name, _tidb_origin_ts) VALUES (7, 'g', 'G', 464074440387592202);
        SET timestamp = 1770332320.992217; DELETE FROM message
    """)
    lines = (line for name, data in ticdc.files().items() if name.endswith("1.json") for line in data.splitlines())
    made = [json.loads(line) for line in lines][-1]
    expected = json.loads(RECORDED)
    assert {name: made[name] for name in expected} == expected
    assert [*made["data"][0]] == [*expected["data"][0]]


def test_create_table_is_sent_without_its_options() -> None:
    ticdc = TiCDC("v26.3.4", sink_uri=KAFKA)
    ticdc.execute(f"CREATE DATABASE d SOFTDELETE=RETENTION  7 DAY; CREATE TABLE d.t (id INT PRIMARY KEY); {TABLE}")
    ticdc.execute("ALTER TABLE t SOFTDELETE RETENTION 8 DAY; ALTER DATABASE d SOFTDELETE RETENTION 8 DAY")
    assert [event.query for event in ticdc.events() if isinstance(event, DdlEvent)] == [
        "CREATE DATABASE d SOFTDELETE=RETENTION  7 DAY",
        "CREATE TABLE `d`.`t` (`id` INT PRIMARY KEY)",
        "CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)",
    ]


@pytest.mark.parametrize(
    "definition",
    [
        "(id INT PRIMARY KEY, softdelete INT)",
        "(id INT PRIMARY KEY) /*T![softdelete] SOFTDELETE='OFF' */",
        "(id INT PRIMARY KEY) /*T![active_active] ACTIVE_ACTIVE='OFF' */",
    ],
)
def test_other_tables_are_no_tables_with_soft_deletes(definition: str) -> None:
    create = f"CREATE TABLE t {definition}"
    assert sent("DELETE FROM t", f"{create}; INSERT INTO t (id) VALUES (1)")[0].startswith("DELETE 1")


def test_ticdc_stops_at_options_that_it_cannot_parse() -> None:
    ticdc = TiCDC("v26.3.4")
    with pytest.raises(SqlError, match="cannot parse SOFTDELETE and ACTIVE_ACTIVE of CREATE TABLE, and its checkpoint"):
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY) SOFTDELETE RETENTION 7 DAY")


@pytest.mark.parametrize("statement", [TABLE, "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE VIEW t AS SELECT 1"])
def test_active_active_stops_at_another_table(statement: str) -> None:
    ticdc = TiCDC("v26.3.4", sink_uri=FILES, config=BOTH_WAYS)
    with pytest.raises(SqlError, match="table test.t is not active-active but enable-active-active is true"):
        ticdc.execute(statement)


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A schema file in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    Path("test.t-schema.sql").write_text(f"CREATE TABLE `t` (`id` int PRIMARY KEY) {SOFT};")
    return "test.t-schema.sql"


def test_snapshots_of_such_tables_are_refused_by_name(schema: str) -> None:
    for side, rows in (("before", "1\n"), ("after", "2\n")):
        Path(side).mkdir()
        (Path(side) / schema).write_text(Path(schema).read_text())
        (Path(side) / "test.t.csv").write_text(rows)
    code, _, error = said("diff", "before", "after", "--release", "v26.3.4", "--console")
    assert code == 2
    assert "test.t: rows of a table with SOFTDELETE from files are not simulated" in error[-1]
    older = ("--release", "v8.5.7", "--architecture", "new")
    assert said("diff", "before", "after", *older, "--console").code == 0


def test_explain_tells_what_becomes_of_a_row(schema: str) -> None:
    old, new = (
        {"id": 1, "_tidb_softdelete_time": None},
        {"id": 1, "_tidb_softdelete_time": "2026-01-01 00:00:00.000000"},
    )
    for change, why in (
        ({"before": old, "after": new}, "an UPDATE that sets _tidb_softdelete_time is sent as DELETE"),
        ({"before": new}, "TiCDC drops each DELETE of a table with SOFTDELETE"),
        ({"before": new, "after": old}, "rule *.* of filter.rules"),
    ):
        out = said("explain", "row", json.dumps(change), "--schema", schema, "--release", "v26.3.4").out
        assert why in out
        assert ("UPDATE on test.t" in out) == (why == "rule *.* of filter.rules")


STORY = f"""{TABLE}; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 9); DELETE FROM t WHERE id = 3;
    RECOVER VALUES FROM t WHERE id = 3; UPDATE t SET v = 7 WHERE id = 3; DELETE FROM t WHERE id = 2;
    ALTER TABLE t ADD COLUMN w INT DEFAULT 5; {OFF} DELETE FROM t WHERE id <> 1"""
PROTOCOLS = [*("open-protocol", "canal-json", "simple", "debezium"), "csv"]


def _played(protocol: str) -> Iterator[str]:
    is_csv = protocol == "csv"
    uri = f"file://{Path('out').absolute()}?protocol=csv" if is_csv else f"kafka://h/t?protocol={protocol}"
    Path("story.sql").write_text(STORY)
    Path("c.toml").write_text("[sink.csv]\ninclude-commit-ts = true\n" if is_csv else "")
    made = () if is_csv else ("--fixtures", "out")
    options = ("--sink-uri", uri, "--config", "c.toml", "--release", "v26.3.4")
    assert play("run", "story.sql", *options, *made, "--truth", "truth") == 0
    for told in (("--truth", "truth"), options):
        yield said("verify", "out", *told)[1].splitlines()[0].partition(":")[0]


@pytest.mark.parametrize("config", ["", "bdr-mode = true\nenable-active-active = true\n"])
@pytest.mark.parametrize("key", ["", " NONCLUSTERED"])
def test_an_insert_may_find_a_row_whose_removal_is_not_sent(
    config: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(config)
    Path("story.sql").write_text(
        f"CREATE TABLE t (id INT PRIMARY KEY{key}) {ACTIVE}; INSERT INTO t (id) VALUES (1), (2); REPLACE INTO t (id) VALUES (2);"
        f"{OFF} DELETE FROM t WHERE id = 1; INSERT INTO t (id) VALUES (1)"
    )
    uri = f"file://{tmp_path / 'out'}?protocol=canal-json&enable-tidb-extension=true"
    assert (
        play("run", "story.sql", "--sink-uri", uri, "--config", "c.toml", "--release", "v26.3.4", "--truth", "truth")
        == 0
    )
    assert said("verify", "out", "--truth", "truth").out.startswith("RIGHT")


def test_a_column_of_the_users_is_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("story.sql").write_text(
        "CREATE TABLE t (id INT PRIMARY KEY, _tidb_softdelete_time INT);"
        f"INSERT INTO t VALUES (1, NULL), (2, NULL); {OFF} UPDATE t SET _tidb_softdelete_time = 5; DELETE FROM t WHERE id = 2"
    )
    uri = f"file://{tmp_path / 'out'}?protocol=canal-json&enable-tidb-extension=true"
    assert play("run", "story.sql", "--sink-uri", uri, "--release", "v26.3.4", "--truth", "truth") == 0
    assert said("verify", "out", "--truth", "truth").out.startswith("RIGHT")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_truth_tells_of_the_columns_that_no_statement_does(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer keeps a row that was removed and not marked."""
    monkeypatch.chdir(tmp_path)
    assert [*_played(protocol)] == ["RIGHT", "UNPROVED"]
    assert "3,3,\\N" not in Path("truth/test.t.csv").read_text()
    assert "\n3,7," in Path("truth/test.t.csv").read_text()
