"""Simple: BOOTSTRAP and its repetition, table schemas, both encodings, its first form (7.6) and other releases, what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.upstreams import cases

from simulator import TiCDC
from simulator.errors import ChangefeedError, EncodeError
from simulator.reader.decode import RowEvent, decode
from simulator.sinks.memory import Message

URI = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=2"
TABLE = "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)"


def feed(config: str = "", release: str = "v8.5.3", more: str = "") -> TiCDC:
    """A changefeed whose watermarks are rare, so that long waits cost little."""
    return TiCDC(release, sink_uri=URI + more, config=config or None, resolved_interval="1m")


def schemas(messages: list[Message], partition: int | None = None) -> Iterator[dict[str, Any]]:
    """The BOOTSTRAPs of a partition, or of all."""
    for message in messages:
        fields = json.loads(message.value or b"")
        if fields["type"] == "BOOTSTRAP" and partition in (None, message.partition):
            yield fields


def test_a_bootstrap_precedes_the_first_row_in_every_partition() -> None:
    with feed() as ticdc:
        ticdc.execute(f"{TABLE}; INSERT INTO test.t VALUES (1, 1); INSERT INTO test.t VALUES (2, 2)")
        messages = ticdc.messages()
    told = [next(schemas(messages, partition)) for partition in (0, 1)]
    assert len([*schemas(messages)]) == 2 and told[0] == told[1]
    kinds = [json.loads(message.value or b"")["type"] for message in messages]
    assert kinds.index("BOOTSTRAP") < kinds.index("INSERT")
    row = next(json.loads(message.value or b"") for message in messages if b"INSERT" in (message.value or b""))
    schema = told[0]["tableSchema"]
    assert (row["schemaVersion"], row["tableID"]) == (schema["version"], schema["tableID"])


@pytest.mark.parametrize(
    ("config", "wait", "times"),
    [
        ("[sink]\nsend-bootstrap-interval-in-sec = 60", "131s", 3),
        ("[sink]\nsend-bootstrap-interval-in-sec = 60", "30s", 1),
        ("[sink]\nsend-bootstrap-in-msg-count = 1", "6s", 2),
        ("[sink]\nsend-bootstrap-interval-in-sec = 0", "10m", 0),
    ],
)
def test_a_bootstrap_is_repeated_after_a_time_or_a_number_of_rows(config: str, wait: str, times: int) -> None:
    """TiCDC looks every 5 s; with a zero there is none at all."""
    with feed(config) as ticdc:
        ticdc.execute(f"{TABLE}; INSERT INTO test.t VALUES (1, 1); INSERT INTO test.t VALUES (2, 2)")
        ticdc.wait(wait)
        found = [*schemas(ticdc.messages(), 0)]
    assert len(found) == times


@pytest.mark.slow
def test_a_table_without_rows_for_half_an_hour_gets_a_bootstrap_with_its_next_row_only() -> None:
    with feed() as ticdc:
        ticdc.execute(f"{TABLE}; INSERT INTO test.t VALUES (1, 1)")
        ticdc.wait("31m")
        ticdc.messages()
        ticdc.wait("3m")
        assert [*schemas(ticdc.messages())] == []
        ticdc.execute("INSERT INTO test.t VALUES (2, 2)")
        assert len([*schemas(ticdc.messages())]) == 2


def test_a_bootstrap_may_go_to_the_first_partition_only() -> None:
    with feed("[sink]\nsend-bootstrap-to-all-partition = false") as ticdc:
        ticdc.execute(f"{TABLE}; INSERT INTO test.t VALUES (1, 1)")
        messages = ticdc.messages()
    assert (len([*schemas(messages, 0)]), len([*schemas(messages, 1)])) == (1, 0)


@pytest.mark.parametrize(("release", "count"), [("v7.5.7", 1), ("v8.0.0", 2)])
def test_from_8_0_each_partition_of_a_table_has_its_bootstrap(release: str, count: int) -> None:
    with feed(release=release) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY) PARTITION BY HASH(id) PARTITIONS 2")
        ticdc.execute("INSERT INTO test.t VALUES (1), (2), (3)")
        assert len([*schemas(ticdc.messages(), 0)]) == count


def test_a_renamed_and_a_truncated_table_keep_the_version() -> None:
    """An altered one has a new version, a truncated one a new id."""
    with feed() as ticdc:
        for sql in (TABLE, "ALTER TABLE test.t ADD c INT FIRST", "RENAME TABLE test.t TO test.u", "TRUNCATE test.u"):
            ticdc.execute(sql)
        ddl = [json.loads(message.value or b"") for message in ticdc.messages() if message.partition == 0]
    created, altered, renamed, truncated = (each["tableSchema"] for each in ddl if "tableSchema" in each)
    assert created["version"] < altered["version"] == renamed["version"] == truncated["version"]
    assert created["tableID"] == altered["tableID"] == renamed["tableID"] < truncated["tableID"]
    assert [column["name"] for column in altered["columns"]] == ["id", "v", "c"]


PARTITIONED = "CREATE TABLE test.t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))"


def test_statements_of_the_new_architecture_do_not_tell_the_table_before() -> None:
    """Except EXCHANGE PARTITION, which is an ALTER there; columns are in table order."""
    story = (TABLE, "ALTER TABLE test.t ADD c INT FIRST", PARTITIONED.replace("test.t", "test.p"))
    found: dict[str, list[dict[str, Any]]] = {}
    for release in ("v8.5.4", "new:v8.5.4"):
        with feed(release=release) as ticdc:
            for sql in (*story, "CREATE TABLE test.q (id INT PRIMARY KEY)"):
                ticdc.execute(sql)
            ticdc.execute("ALTER TABLE test.p EXCHANGE PARTITION p WITH TABLE test.q")
            ddl = [json.loads(message.value or b"") for message in ticdc.messages() if message.partition == 0]
        found[release] = [each for each in ddl if "sql" in each]
    shapes = {release: [(each["type"], "preTableSchema" in each) for each in ddl] for release, ddl in found.items()}
    created = ("CREATE", False)
    assert shapes["v8.5.4"] == [created, ("ALTER", True), created, created, ("QUERY", True)]
    assert shapes["new:v8.5.4"] == [created, ("ALTER", False), created, created, ("ALTER", True)]
    names = [[column["name"] for column in found[release][1]["tableSchema"]["columns"]] for release in found]
    assert names == [["id", "v", "c"], ["c", "id", "v"]]


@pytest.mark.parametrize(
    ("release", "text"), [("v8.5.7", "0.00001"), ("new:v8.5.5", "1e-05"), ("new:v8.5.6", "0.00001")]
)
def test_the_new_architecture_writes_exponents_at_first(release: str, text: str) -> None:
    with feed(release=release) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, d DOUBLE); INSERT INTO test.t VALUES (1, 1e-5)")
        rows = [json.loads(message.value or b"") for message in ticdc.messages()]
    assert [row["data"]["d"] for row in rows if row["type"] == "INSERT"] == [text]


@pytest.mark.parametrize(("release", "bits"), [("v8.5.4", b"\x02b\x02\x02"), ("new:v8.5.4", b"\x02b\x08\x021")])
def test_bits_in_avro_are_read_back(release: str, bits: bytes) -> None:
    """A long in classic TiCDC, a string in the new architecture."""
    with feed(release=release, more="&encoding-format=avro") as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, b BIT(3), ts TIMESTAMP(2) NULL)")
        ticdc.execute("INSERT INTO test.t VALUES (1, 1, '2024-01-01 00:00:00.25')")
        messages = ticdc.messages()
        events = [event for message in messages for event in decode(message.key, message.value, "simple")]
    (row,) = (event for event in events if isinstance(event, RowEvent))
    assert row.after == {"b": "1", "id": "1", "ts": "2024-01-01 00:00:00.25"}
    assert any(bits in (message.value or b"")[-60:] for message in messages)


@pytest.mark.parametrize(("release", "text"), [("v8.3.0", "\\u0008"), ("v8.5.3", "\\b"), ("new:v8.5.4", "\\b")])
def test_go_from_1_22_on_shortens_escapes(release: str, text: str) -> None:
    with feed(release=release) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, s TEXT); INSERT INTO test.t VALUES (1, '\\b')")
        values = [message.value or b"" for message in ticdc.messages()]
    assert any(f'"s":"{text}"'.encode() in value for value in values)


def test_a_statement_above_the_limit_stops_the_changefeed() -> None:
    with pytest.raises(EncodeError, match="too large. table:t, length:"), feed(more="&max-message-bytes=300") as ticdc:
        ticdc.execute(TABLE)


def test_fixtures_of_avro_are_lines_of_json(tmp_path: Path) -> None:
    with TiCDC(sink_uri=f"{URI}&encoding-format=avro", fixtures=tmp_path / "out") as ticdc:
        ticdc.execute(f"{TABLE}; INSERT INTO test.t VALUES (1, 1)")
    files = (tmp_path / "out").rglob("*.jsonl")
    lines = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    assert lines and {line["events"] for line in lines} == {None}
    events = [event for line in lines for event in decode(None, base64.b64decode(line["value"]))]
    assert any(isinstance(event, RowEvent) for event in events)


# -- other releases: the first form (7.6), the betas of the new architecture, whose BOOTSTRAP comes when ----------------

EVERY = (
    "CREATE TABLE test.t (id BIGINT UNSIGNED PRIMARY KEY, e ENUM('x','y'), s SET('p','q'), d DOUBLE, ts TIMESTAMP NULL);"
    "INSERT INTO test.t VALUES (18446744073709551615, 'y', 'p,q', 1.5, '2024-01-01 00:00:00')"
)


def played(release: str, *statements: str, config: str = "", more: str = "") -> list[Message]:
    """The messages of statements."""
    with TiCDC(release, sink_uri=URI + more, config=config or None) as ticdc:
        for sql in statements:
            ticdc.execute(sql)
        return ticdc.messages()


def fields(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.value or b"")
    return found


def told(messages: list[Message], name: str = "table") -> list[Any]:
    """A member of the table schema of each BOOTSTRAP in partition 0."""
    found = [fields(message) for message in messages if message.partition == 0]
    return [each["tableSchema"][name] for each in found if each["type"] == "BOOTSTRAP"]


def test_the_first_form_has_names_of_members_and_no_ids() -> None:
    """All statements have one type, and BOOTSTRAP goes to the first partition."""
    messages = played("v7.6.0", EVERY)
    (row,) = (each for each in map(fields, messages) if each["type"] == "INSERT")
    assert [*row] == ["version", "schema", "table", "type", "commitTs", "buildTs", "schemaVersion", "data"]
    texts = {"d": "1.5", "e": "y", "id": "18446744073709551615", "s": "p,q", "ts": "2024-01-01 00:00:00"}
    assert row["data"] == texts
    statement = next(each for each in map(fields, messages) if each["type"] == "DDL")
    assert [*statement["tableSchema"]] == ["schema", "table", "version", "columns", "indexes"]
    assert statement["tableSchema"]["columns"][3]["dataType"]["decimal"] == -1
    assert [message.partition for message in messages if fields(message)["type"] == "BOOTSTRAP"] == [0]


def test_the_first_form_in_avro_is_a_union_of_messages() -> None:
    """As its schema says: branch, version, kind; and of values branch and value, a string for large integers."""
    values = [message.value or b"" for message in played("v7.6.0", EVERY, more="&encoding-format=avro")]
    assert {value[:2] for value in values} == {b"\x0e\2", b"\x0a\2", b"\x0c\2", b"\x10\2"}
    assert values[0].startswith(b"\x0e\2DDL") and any(value.startswith(b"\x0c\2BOOTSTRAP") for value in values)
    (row,) = (value for value in values if value[:2] == b"\x10\2")
    assert row.startswith(b"\x10\2\x08test\2t\0") and row.endswith(b"\x0a\x262024-01-01 00:00:00\0\0")
    assert all(
        part in row for part in (b"\2e\x0a\2y", b"\4id\x0a\x2818446744073709551615", b"\2s\x0a\6p,q", b"\2d\x08")
    )


def test_the_first_form_loses_the_primary_key_where_columns_are_not_in_the_order_of_their_ids() -> None:
    """TiCDC sorts the columns before it looks for those of indexes, and from 8.0 on afterwards."""
    altered = "CREATE TABLE test.t (id INT PRIMARY KEY); ALTER TABLE test.t ADD c INT FIRST"
    for release, count in (("v7.6.0", 0), ("v8.0.0", 1)):
        schemas = [each["tableSchema"] for each in map(fields, played(release, altered)) if "tableSchema" in each]
        assert len(schemas[-1]["indexes"]) == count


@pytest.mark.parametrize(("release", "columns"), [("v8.1.0", ["id", "id"]), ("v8.1.1", ["id"])])
def test_early_releases_repeat_the_primary_key_for_each_unique_key_with_it(release: str, columns: list[str]) -> None:
    messages = played(release, "CREATE TABLE test.t (id INT PRIMARY KEY, v INT, UNIQUE KEY (v, id))")
    assert fields(messages[0])["tableSchema"]["indexes"][-1]["columns"] == columns


def test_the_first_form_is_refused_where_it_takes_types_from_other_columns() -> None:
    with pytest.raises(EncodeError, match="column 's' of test.t comes after a virtual column"):
        played(
            "v7.6.0", "CREATE TABLE test.t (id INT PRIMARY KEY, v INT AS (id), s TEXT)", "INSERT INTO test.t SET id = 1"
        )


@pytest.mark.parametrize(("release", "names"), [("v7.6.0", ["a", "a"]), ("v8.0.0", ["a", "b"])])
def test_bootstrap_has_the_new_name_of_a_renamed_table_except_in_the_first_form(release: str, names: list[str]) -> None:
    with TiCDC(release, sink_uri=URI, resolved_interval="1m") as ticdc:
        ticdc.execute("CREATE TABLE test.a (id INT PRIMARY KEY); INSERT INTO test.a VALUES (1)")
        ticdc.execute("RENAME TABLE test.a TO test.b; INSERT INTO test.b VALUES (2)")
        ticdc.wait("125s")
        assert told(ticdc.messages()) == names


def test_the_first_beta_of_the_new_architecture_does_not_build_it() -> None:
    with pytest.raises(ChangefeedError, match="simple") as caught:
        played("new:v9.0.0-beta.1")
    assert caught.value.code == "CDC:ErrSinkUnknownProtocol"


def test_virtual_columns_are_null_in_the_second_beta() -> None:
    table = "CREATE TABLE test.t (id INT PRIMARY KEY, v INT AS (id))"
    messages = played("new:v9.0.0-beta.2.pre", table, "INSERT INTO test.t (id) VALUES (1)")
    assert [each["data"] for each in map(fields, messages) if each["type"] == "INSERT"] == [{"id": "1", "v": None}]


RANGES = "PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (5), PARTITION q VALUES LESS THAN (9))"
ADDED = "ALTER TABLE test.t ADD PARTITION (PARTITION r VALUES LESS THAN (20))"


@pytest.mark.parametrize(
    ("release", "at_first", "later"), [("v8.5.7", 2, 1), ("new:v8.5.5", 1, 3), ("new:v8.5.6", 1, 0)]
)
def test_bootstrap_comes_for_each_id_that_ticdc_takes_for_a_table(release: str, at_first: int, later: int) -> None:
    """In early releases of the new architecture that is the partition's behind a statement on partitions."""
    with TiCDC(release, sink_uri=URI) as ticdc:
        ticdc.execute(f"CREATE TABLE test.t (id INT PRIMARY KEY) {RANGES}; INSERT INTO test.t VALUES (1), (7)")
        first = told(ticdc.messages(), "tableID")
        ticdc.execute(f"{ADDED}; INSERT INTO test.t VALUES (2), (8), (15)")
        second = told(ticdc.messages(), "tableID")
        ticdc.execute("ALTER TABLE test.t ADD c INT; INSERT INTO test.t VALUES (3, 1), (6, 1), (16, 1)")
        assert told(ticdc.messages(), "tableID") == []
    (table,) = set(first)
    assert (len(first), len(second)) == (at_first, later)
    assert all((id > table) == release.startswith("new") for id in second)


START = "[sink]\nsend-all-bootstrap-at-start = true\ndispatchers = [{matcher = ['shop.b'], topic = 'other'}]\n"


@pytest.mark.parametrize(
    ("release", "more", "expected"),
    [
        ("v8.5.3", "", [("other", "b"), ("t", "a")]),
        ("v8.5.3", "send-bootstrap-in-msg-count = 0", []),
        ("new:v8.5.6", "send-bootstrap-in-msg-count = 0", [("t", "a"), ("t", "a"), ("t", "b")]),
    ],
)
def test_a_changefeed_may_begin_with_the_bootstrap_of_all_tables(
    release: str, more: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Classic TiCDC sends one for a table, to its topic; the new architecture one for a partition, to the default topic."""
    for name, text in {
        "shop-schema-create.sql": "CREATE DATABASE shop;",
        "shop.a-schema.sql": "CREATE TABLE a (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;",
        "shop.a.csv": "1\n",
        "shop.b-schema.sql": "CREATE TABLE b (id INT PRIMARY KEY);",
        "shop.b.csv": "1\n",
    }.items():
        (tmp_path / name).write_text(text)
    steps = f"snapshot = '{tmp_path}'", "wait = '2s'", "sql = 'INSERT INTO shop.b VALUES (2)'"
    (tmp_path / "story.toml").write_text("".join(f"[[step]]\n{step}\n" for step in steps))
    with TiCDC(release, sink_uri=URI, config=START + more) as ticdc:
        ticdc.play(tmp_path / "story.toml")
        messages = ticdc.messages()
    rows = [place for place, message in enumerate(messages) if fields(message)["type"] != "BOOTSTRAP"]
    begin = messages[: rows[0]]
    assert (
        sorted((each.topic, fields(each)["tableSchema"]["table"]) for each in begin if each.partition == 0) == expected
    )
    assert len(begin) == 2 * len(expected)


LITERALS = cases("""
    YEAR DEFAULT '70' => 70 => 1970
    DECIMAL(10,3) DEFAULT -485 => -485 => -485.000
    DECIMAL(10,0) DEFAULT 2.50 => 2.50 => 3
    DECIMAL(10,2) DEFAULT .5 => 0.5 => 0.50
    DECIMAL(10,2) DEFAULT 1e3 => 1000 => 1000.00
    INT DEFAULT 2.5 => 3 => 3
    FLOAT(8,2) DEFAULT 0.005 => 0 => 0
    DOUBLE DEFAULT 1e20 => 100000000000000000000 => 100000000000000000000
    BIT(64) DEFAULT 17875876537182369 => 17875876537182369 => 17875876537182369
    VARCHAR(9) DEFAULT 1.50 => 1.50 => 1.50
    TIME(3) NOT NULL => 00:00:00 => 00:00:00.000
    DECIMAL(9,2) NOT NULL => 0 => 0.00
    SET('a','b') DEFAULT 'B,a' => a,b => 3
""")


@pytest.mark.parametrize(("column", "stored", "value"), LITERALS)
def test_a_default_is_as_written_and_older_rows_have_what_becomes_of_it(column: str, stored: str, value: str) -> None:
    with feed(release="v8.0.0") as ticdc:
        ticdc.execute(
            "CREATE TABLE test.t (id INT PRIMARY KEY) COLLATE utf8mb4_general_ci; INSERT INTO test.t VALUES (1)"
        )
        ticdc.execute(f"ALTER TABLE test.t ADD c {column}; DELETE FROM test.t")
        told = [json.loads(message.value or b"") for message in ticdc.messages()]
    table = next(fields["tableSchema"] for fields in told if fields["type"] == "ALTER")
    row = next(fields["old"] for fields in told if fields["type"] == "DELETE")
    assert (str(table["columns"][1]["default"]), row["c"]) == (stored, value)


VIEWS = cases("""
    SELECT * FROM a JOIN b USING (id) => id x y
    SELECT * FROM a NATURAL RIGHT JOIN b => id y x
    SELECT b.*, 1+1, a.x AS k FROM a, b => id y 1+1 k
    WITH q AS (SELECT * FROM a) SELECT * FROM q => id x
    WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r => n
    SELECT id FROM a UNION SELECT y FROM b => id
    SELECT * FROM (SELECT x AS m, id FROM a) d => m id
""")


@pytest.mark.parametrize(("query", "columns"), VIEWS)
def test_a_views_columns_are_those_of_its_query_even_if_it_has_another_name(query: str, columns: str) -> None:
    with feed(release="v8.0.0") as ticdc:
        ticdc.execute(
            "USE test; CREATE TABLE a (id INT PRIMARY KEY, x INT); CREATE TABLE b (id INT PRIMARY KEY, y INT)"
        )
        ticdc.execute(f"CREATE VIEW v AS {query}; RENAME TABLE v TO w")
        told = [json.loads(message.value or b"") for message in ticdc.messages()]
    shown = [
        [column["name"] for column in each["tableSchema"]["columns"]] for each in told if "VIEW" in each.get("sql", "")
    ]
    assert shown[0] == columns.split()
    assert [each["tableSchema"]["columns"] for each in told if each["type"] == "RENAME"][0] != []


def test_the_copy_of_a_table_keeps_the_defaults_of_older_rows() -> None:
    with feed(release="v8.0.0") as ticdc:
        ticdc.execute("USE test; CREATE TABLE a (id INT PRIMARY KEY); ALTER TABLE a ADD n INT NOT NULL")
        ticdc.execute("CREATE TABLE b LIKE a")
        last = json.loads([each.value for each in ticdc.messages() if b"LIKE" in (each.value or b"")][-1] or b"")
    assert [column["default"] for column in last["tableSchema"]["columns"]] == [None, "0"]


def test_a_job_that_ticdc_discards_leaves_its_schema_as_it_was() -> None:
    with feed(release="v8.0.0") as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY); ALTER TABLE test.t SET TIFLASH REPLICA 1")
        ticdc.execute("INSERT INTO test.t VALUES (1); ALTER TABLE test.t COMMENT = 'x'")
        told = [json.loads(message.value or b"") for message in ticdc.messages()]
    created, altered, row = (
        next(each for each in told if each["type"] == kind) for kind in ("CREATE", "ALTER", "INSERT")
    )
    first = created["tableSchema"]["version"]
    assert (row["schemaVersion"], altered["preTableSchema"]["version"]) == (first, first)


MOVED = """
    USE test; CREATE TABLE t (id INT PRIMARY KEY, b VARBINARY(9), ts TIMESTAMP); ALTER TABLE t ADD n INT AFTER id;
    INSERT INTO t VALUES (1, 2, 'x', '2020-01-02'); ALTER TABLE t COMMENT = 'x'; UPDATE t SET n = 3
"""
OWN = {"id": "1", "n": "2", "b": "eA==", "ts": {"location": "Etc/UTC", "value": "2020-01-02 00:00:00"}}


@pytest.mark.parametrize(
    ("release", "inserted"),
    [
        ("v8.0.0", {"id": "1", "b": "2", "ts": "eA==", "n": OWN["ts"]}),
        ("v7.5.7", {"id": "1", "n": "2", "b": {"location": "Local", "value": "x"}, "ts": "2020-01-02 00:00:00"}),
        ("new:v8.5.7", OWN),
    ],
)
def test_a_bootstrap_lets_ticdc_mistake_columns_out_of_the_order_of_ids(release: str, inserted: dict[str, Any]) -> None:
    """The row after the next statement is right, as no BOOTSTRAP came with its schema version."""
    with feed(release=release) as ticdc:
        ticdc.execute(MOVED)
        rows = [row for row in (json.loads(each.value or b"") for each in ticdc.messages()) if "data" in row]
    assert rows[0]["data"] == inserted
    assert rows[1]["old"] == OWN or release == "v7.5.7"


HIDDEN = cases("""
    a + 1 => bigint 20 0 False
    d * 2 => decimal 10 2 True
    (d + 1.255) => decimal 11 3 True
    LOWER(v) => var_string 9 -1 True
    UPPER(a) => var_string 20 -1 False
    CAST(a AS CHAR(5)) => var_string 5 -1 False
    CAST(v AS DECIMAL(8,3)) => decimal 8 3 True
    CAST(j->'$.a' AS UNSIGNED ARRAY) => json 22 0 True
    CAST(j->'$.a' AS CHAR(7) ARRAY) => json 7 0 True
""")


@pytest.mark.parametrize(("expression", "told"), HIDDEN)
def test_the_hidden_columns_of_functional_indexes_are_told_with_their_types(expression: str, told: str) -> None:
    with feed(release="v8.0.0") as ticdc:
        ticdc.execute(
            "CREATE TABLE test.t (a INT PRIMARY KEY, d DECIMAL(9,2), v VARCHAR(9) COLLATE utf8mb4_general_ci, j JSON, "
            f"INDEX k (({expression})))"
        )
        (schema, *_) = [
            json.loads(each.value or b"")["tableSchema"]
            for each in ticdc.messages()
            if b"CREATE" in (each.value or b"")
        ]
    column = schema["columns"][-1]
    type = column["dataType"]
    assert column["name"] == "_V$_k_0" == schema["indexes"][0]["columns"][0]
    assert f"{type['mysqlType']} {type['length']} {type.get('decimal', 0)} {column['nullable']}" == told


def test_a_functional_index_whose_type_is_not_known_is_refused_by_name() -> None:
    with feed() as ticdc, pytest.raises(EncodeError, match="the types of those of test.t are not simulated"):
        ticdc.execute("CREATE TABLE test.t (a INT PRIMARY KEY, v VARCHAR(9), INDEX k ((REVERSE(v))))")
        ticdc.messages()
