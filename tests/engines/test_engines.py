"""Spark and one process give the same records, byte for byte, and refuse the same; Spark's plan does not grow with the
tables."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cut_short import commit_ts
from support.databases import AFTER, BEFORE, Table, Value, write
from support.playing import BY_KEY, assert_contract, error_of, play

from simulator import releases
from simulator.engines import in_process
from simulator.engines.work import Work
from simulator.reader.records import Record, read_records
from simulator.run import outputs, plan, scenario
from simulator.run.execute import PlannedRun
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/all?partition-num=3&protocol="
PROTOCOLS = ("open-protocol", "canal-json", "canal-json&enable-tidb-extension=true")
DISPATCHERS = ("default", "table", "index-value", "ts")

COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "id int": st.integers(0, 12),
    "id bigint unsigned": st.sampled_from([0, 1, 2**63, 2**64 - 1, 7, 8]),
    "id varchar(9)": st.sampled_from(["", "a", "A", "a ", "b", "é", "e", "aa"]),
    "id varchar(9) collate utf8mb4_general_ci": st.sampled_from(["", "a", "A", "a ", "b", "é", "e", "aa"]),
    "id decimal(6,2)": st.sampled_from(["0.00", "-1.50", "10.25", "9.99", "-0.01"]),
    "id date": st.sampled_from(["2020-02-29", "0000-00-00", "1999-12-31", "2020-03-01"]),
}
PARTITIONS = ("", "partition by hash (k) partitions 2")


@st.composite
def tables(draw: st.DrawFn, name: str) -> Table:
    """A table with rows in both states; keys repeat nowhere, if there is one."""
    column = draw(st.sampled_from(sorted(COLUMNS)))
    key = draw(st.sampled_from(list(UNIQUE)))
    parts = draw(st.sampled_from(PARTITIONS)) if key == "primary key (id, k)" else ""
    columns = f"{column} not null, k int not null, v varchar(20), g int as (k + 1) stored"
    statement = f"CREATE TABLE `{name}` ({columns}{', ' + key if key else ''}) {parts}"
    row = st.tuples(COLUMNS[column], st.integers(0, 5), st.none() | st.sampled_from(["x", "", "Ä", "long" * 5]))
    unique = UNIQUE[key]
    before, after = (draw(st.lists(row, max_size=8, unique_by=unique or None)) for _ in range(2))
    return Table(statement, before, after)


def folded(row: tuple[Value, ...]) -> str:
    """What no collation tells apart."""
    return str(row[0]).rstrip(" ").lower().replace("é", "e")


def whole(row: tuple[Value, ...]) -> tuple[str, Value]:
    return folded(row), row[1]


def second(row: tuple[Value, ...]) -> Value:
    return row[1]


UNIQUE: dict[str, tuple[Any, ...]] = {
    "primary key (id)": (folded,),
    "primary key (id, k)": (whole,),
    "unique key u (id)": (folded,),
    "primary key (id), unique key u (k)": (folded, second),
    "": (),
}
databases = st.tuples(tables("one"), tables("two"), tables("three"))


def fixtures(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*.jsonl"))}


def both(directory: Path, database: list[Table], *options: object, format: str = "sql") -> tuple[Path, Path]:
    """The fixtures of a diff that one process makes, and those of Spark, which are equal."""
    before, after = [write(directory / str(state), database, state, format) for state in (BEFORE, AFTER)]
    for name, master in (("alone", "none"), ("spark", "local[2]")):
        out = "--fixtures", directory / name, "--truth", directory / f"{name}.truth"
        assert play("diff", before, after, *options, "--master", master, *out) == 0
    assert fixtures(directory / "alone") == fixtures(directory / "spark") != {}
    return directory / "alone", directory / "spark"


ROWS = [(key, "x") for key in range(40)]
ONE, TWO = "CREATE TABLE `one` (id int primary key, v blob)", "CREATE TABLE `two` (id int primary key, v text)"


@pytest.mark.parametrize(
    ("protocol", "release"), [("avro", ("v8.0.0",)), ("debezium-avro", ("v26.3.4", "--architecture", "new"))]
)
def test_both_engines_give_the_same_ids_to_schemas(
    spark: SparkSession, tmp_path: Path, protocol: str, release: Sequence[str]
) -> None:
    """The first row of each table decides, wherever it is sent, of one that has DELETEs alone, too."""
    three = Table("CREATE TABLE `three` (id int primary key, v int)", [(1, 2)], [(1, 3)])
    config = tmp_path / "changefeed.toml"
    config.write_text(
        "[sink]\nschema-registry = 'http://127.0.0.1:8081'\n"
        "dispatchers = [{matcher = ['*.*'], topic = '{schema}_{table}'}]\n"
    )
    options = ("--sink-uri", f"{URI}{protocol}&enable-tidb-extension=true", "--config", config, "--release", *release)
    made = both(tmp_path, [Table(ONE, ROWS, []), Table(TWO, [], ROWS), three], *options)
    alone, on_spark = ((directory / "schemas.json").read_text() for directory in made)
    assert alone == on_spark


def test_both_engines_tell_schemas_before_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Simple, in tables that no statement of the stream tells; of a table whose rows are all held back no schema."""
    config = tmp_path / "changefeed.toml"
    config.write_text("[[filter.event-filters]]\nmatcher = ['*.held']\nignore-event = ['insert']\n")
    held = Table("CREATE TABLE `held` (id int primary key, v int)", [], [(1, 2)])
    tables = [Table(ONE, ROWS, []), Table(TWO, [], ROWS), held]
    options = "--sink-uri", f"{URI}simple&encoding-format=avro", "--config", config
    _, on_spark = both(tmp_path, tables, *options)
    assert play("verify", on_spark, "--truth", tmp_path / "spark.truth", "--master", "local[2]") == 0


def test_both_engines_give_the_same_for_more_rows_than_a_batch_has(spark: SparkSession, tmp_path: Path) -> None:
    """Each task reads several batches of 16,384 rows, and sends to partitions that share them."""
    before = [(key, "x") for key in range(70_000)]
    after = [(key, "y" if key % 3 else "x") for key in range(100, 70_100)]
    (tmp_path / "changefeed.toml").write_text(BY_KEY)
    table = Table("CREATE TABLE `many` (id int primary key, v varchar(9))", before, after)
    options = "--sink-uri", f"{URI}open-protocol", "--config", tmp_path / "changefeed.toml"
    both(tmp_path, [table], *options, format="csv")


@pytest.mark.parametrize(
    "format", ["jsonl", pytest.param("parquet", marks=pytest.mark.long(reason="JSON lines are emptied alike"))]
)
def test_both_engines_send_what_commits_before_a_row_that_ticdc_cannot_encode(
    spark: SparkSession, tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else, in any partition: when the row is met, the others are flushes ahead."""
    rows = [(key, "x" * 3000 if key == 4711 else "x") for key in range(9000)]
    before, after = (write(tmp_path / str(state), [Table(TWO, [], rows)], state, "csv") for state in (BEFORE, AFTER))
    (tmp_path / "changefeed.toml").write_text(BY_KEY)

    def sent(name: str, most: int, master: str) -> list[Record]:
        out, uri = tmp_path / name, f"{URI}open-protocol&max-message-bytes={most}"
        options = "--config", tmp_path / "changefeed.toml", "--over", "1s", "--fixtures-format", format
        code = play("diff", before, after, *options, "--sink-uri", uri, "--fixtures", out, "--master", master)
        assert code == (2 if most < 5000 else 0)
        said = capsys.readouterr()
        assert code == 0 or "ErrMessageTooLarge" in said.err.splitlines()[-1]
        return list(read_records(str(out)))

    whole = sent("whole", 5000, "none")
    (refused,) = commit_ts([record for record in whole if b"eHh4" in (record.value or b"")])
    expected = [ts for ts in commit_ts(whole) if ts < refused]
    alone, two, three = (sent(master, 2000, master) for master in ("none", "local[2]", "local[3]"))
    assert sorted(commit_ts(alone)) == sorted(expected)
    assert alone == two == three


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    databases,
    st.sampled_from(PROTOCOLS),
    st.sampled_from(DISPATCHERS),
    st.sampled_from(["v8.5.3", "v8.5.3", "v7.1.0", "v6.5.3", "v6.5.4"]),
    st.sampled_from(["sql", "csv", "csv.zst"]),
    st.sampled_from(["1m", "3ms"]),
)
def test_both_engines_give_the_same_fixtures(
    spark: SparkSession,
    database: tuple[Table, ...],
    protocol: str,
    dispatcher: str,
    release: str,
    format: str,
    over: str,
) -> None:
    """Over random databases: keys of several types and collations, partitions, generated columns, no keys at all."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        states = [write(folder / str(state), database, state, format) for state in (BEFORE, AFTER)]
        config = folder / "changefeed.toml"
        config.write_text(
            f'force-replicate = true\n[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"}}]\n'
        )
        options = ("--sink-uri", URI + protocol, "--config", config, "--release", release, "--over", over)
        for master in ("none", "local[2]"):
            assert play("diff", *states, *options, "--master", master, "--fixtures", folder / master) == 0
        assert fixtures(folder / "none") == fixtures(folder / "local[2]") != {}


def many(directory: Path, count: int) -> Path:
    directory.mkdir()
    for number in range(count):
        (directory / f"shop.t{number}-schema.sql").write_text(f"CREATE TABLE t{number} (id int primary key, n int);\n")
        (directory / f"shop.t{number}.csv").write_text(f"1,{number}\n2,{directory.name}\n".replace("before", "0"))
    return directory


@pytest.mark.parametrize("dispatcher", ["index-value", "columns"])
def test_the_plan_of_fifty_tables_is_as_large_as_that_of_two(
    spark: SparkSession, tmp_path: Path, dispatcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a row's partition is known when it is read or not; where one task reads all, it needs no exchange."""
    from simulator.engines import on_spark

    plans: list[int] = []

    def noted(frame: Any, *arguments: Any, **options: Any) -> Any:
        found = mapped(frame, *arguments, **options)
        lines = found._jdf.queryExecution().executedPlan().toString().splitlines()
        plans.append(sum("ENSURE_REQUIREMENTS" not in line for line in lines))
        return found

    mapped = on_spark.map_in_arrow
    monkeypatch.setattr(on_spark, "map_in_arrow", noted)
    sizes = []
    for count in (2, 50):
        folder = tmp_path / str(count)
        folder.mkdir()
        before, after = many(folder / "before", count), many(folder / "1", count)
        assert play_with(spark, before, after, dispatcher) == {"index-value": 1, "columns": 2}[dispatcher]
        sizes.append(plans[-1])
    assert sizes[0] == sizes[1] > 5


def play_with(spark: SparkSession, before: Path, after: Path, dispatcher: str) -> int:
    """Into a counting sink; how often rows were shuffled."""
    from simulator.engines import on_spark

    columns = ', columns = ["n"]' if dispatcher == "columns" else ""
    toml = f'[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"{columns}}}]\n'
    changefeed = load(URI + "open-protocol", toml)
    script = scenario.diff(before, after, SchemaChangeOptions()).run_spec()
    planned = plan.plan(script, changefeed, releases.V8_5)

    def engine(work: Work) -> Any:
        return on_spark.run(spark, work)

    output = outputs.Output(changefeed).for_plan(planned)
    planned_run = PlannedRun(planned, output, releases.V8_5)
    account, alone = planned_run.send(engine), planned_run.send(in_process.run)
    assert account.changes == alone.changes
    return account.shuffles


@pytest.mark.slow
def test_a_process_without_spark_compares_snapshots(tmp_path: Path) -> None:
    """pyspark is not even imported."""
    before, after = many(tmp_path / "before", 3), many(tmp_path / "1", 3)
    code = (
        "import sys; from simulator.cli import run; code = run(sys.argv[1:]); "
        "sys.exit(code or (7 if 'pyspark' in sys.modules else 0))"
    )
    options = ["--sink-uri", URI + "open-protocol", "--master", "none", "--fixtures", tmp_path / "out"]
    command = [sys.executable, "-c", code, "diff", before, after, *options]
    assert subprocess.run(list(map(str, command)), check=False, capture_output=True).returncode == 0


def test_snapshots_too_large_for_one_process_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = many(tmp_path / "before", 1), many(tmp_path / "1", 1)
    monkeypatch.setattr(in_process, "MOST_BYTES", 10)
    options = ("--sink-uri", URI + "open-protocol", "--master", "none", "--fixtures", tmp_path / "out")
    assert "--master none holds whole snapshots in memory" in error_of("diff", before, after, *options)
    assert not (tmp_path / "out").exists()


LARGE_SCHEMA = "CREATE TABLE `{}` (`id` varchar(2000) PRIMARY KEY, `v` longtext, `secret` int);\n"
LARGE_URI = "kafka://127.0.0.1:1/shop?protocol=open-protocol&max-message-bytes=700&partition-num=2"
LARGE = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = '{}'\n"


def long_rows(directory: Path, key: str = "k", schema: str = LARGE_SCHEMA) -> tuple[Path, Path]:
    """Two states of two tables with some long rows: inserted, updated and deleted."""
    found = directory / "before", directory / "after"
    for number, state in enumerate(found):
        state.mkdir(parents=True)
        for table in ("t", "s"):
            (state / f"shop.{table}-schema.sql").write_text(schema.format(table))
            rows = (f"{key}{row},{text(row, number)},{number}\n" for row in range(number * 9, 30 + number * 9))
            (state / f"shop.{table}.csv").write_text("".join(rows))
    return found


def text(row: int, number: int) -> str:
    """Up to 2,400 characters that no compression makes much shorter."""
    parts = (hashlib.sha256(f"{row} {number} {part}".encode()).hexdigest() for part in range(row % 4 * 12))
    return "".join(parts)


def test_both_engines_store_the_same_large_messages_and_are_right(spark: SparkSession, tmp_path: Path) -> None:
    before, after = long_rows(tmp_path)
    stores, config, made = tmp_path / "store", tmp_path / "changefeed.toml", []
    toml = f"{LARGE.format('claim-check')}large-message-handle-compression = 'snappy'\n"
    toml += f"claim-check-storage-uri = 'file://{stores}'\n"
    config.write_text(toml)
    options = "--sink-uri", LARGE_URI, "--config", config, "--seed", "5"
    for master in ("local[2]", "none"):
        assert play("diff", before, after, *options, "--fixtures", tmp_path / master, "--master", master) == 0
        made.append({path.name: path.read_bytes() for path in stores.iterdir()} | fixtures(tmp_path / master))
        if master == "local[2]":
            changefeed = load(LARGE_URI, toml)
            assert_contract(read_records(str(tmp_path / master)), changefeed, {"shop": 2}, before, after)
            stores.rename(tmp_path / "first")
    assert made[0] == made[1] and len(made[0]) > 10


SELECTORS = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['v']}]\n"
NO_KEY = LARGE_SCHEMA.replace(" PRIMARY KEY", "")


@pytest.mark.parametrize(
    ("toml", "schema", "words"),
    [
        (
            LARGE.format("claim-check") + "claim-check-storage-uri = 'file:///dev/null/x'\n",
            LARGE_SCHEMA,
            "claim-check-storage-uri file:///dev/null/x cannot be written to: Not a directory",
        ),
        (
            LARGE.format("claim-check") + "claim-check-storage-uri = 'gs://bucket/x'\n",
            LARGE_SCHEMA,
            "claim-check-storage-uri gs://bucket/x cannot be opened: Please install gcsfs to access Google Storage",
        ),
        (
            "force-replicate = true\n" + LARGE.format("handle-key-only"),
            LARGE_SCHEMA,
            "[CDC:ErrCodecInvalidConfig] force-replicate must be disabled, when the large message handle is enabled, large "
            'message handle: "handle-key-only"',
        ),
        (
            LARGE.format("handle-key-only"),
            NO_KEY,
            "no primary key and no unique key of NOT NULL columns: shop.s, shop.t",
        ),
        (SELECTORS, LARGE_SCHEMA, "[CDC:ErrColumnSelectorFailed] no primary key columns or unique key columns"),
    ],
)
def test_what_cannot_be_sent_is_one_line_before_anything_is(
    toml: str, schema: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "changefeed.toml").write_text(toml)
    states = long_rows(tmp_path, schema=schema)
    options = "--config", tmp_path / "changefeed.toml", "--fixtures", tmp_path / "out", "--sink-uri", LARGE_URI
    assert play("diff", *states, *options) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["after", "before", "changefeed.toml"]
    (line,) = (line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …"))
    assert words in line


def test_a_handle_key_that_is_still_too_large_is_ticdcs_error(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which a task finds."""
    (tmp_path / "changefeed.toml").write_text(LARGE.format("handle-key-only"))
    states, config = long_rows(tmp_path, "k" * 900), ("--config", tmp_path / "changefeed.toml")
    assert play("diff", *states, "--sink-uri", LARGE_URI, *config, "--fixtures", tmp_path / "out") == 2
    assert fixtures(tmp_path / "out")
    assert "[CDC:ErrMessageTooLarge] message is too large. table:" in capsys.readouterr().err
