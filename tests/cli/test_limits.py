"""Every input has a limit: what is above it is refused by one message that names it, before time or memory is spent."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from support.playing import play, said

from simulator import TiCDC, limits
from simulator.engines import in_process
from simulator.errors import SqlError
from simulator.limits import NESTED_CALLS
from simulator.sources.snapshots import directory

pytestmark = pytest.mark.usefixtures("here")

SQL = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"
SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT);"
QUICK = 5.0
"""Seconds of CPU for a refusal."""


def refused(*arguments: str) -> str:
    """What a command says that is refused soon."""
    started = time.process_time()
    code, _, lines = said(*arguments)
    assert code == 2
    assert time.process_time() - started < QUICK
    return "\n".join(lines)


COUNTS = {
    'fault = "add-partitions"\npartitions = 100000000': "from 1 to 10,000, got 100000000",
    'fault = "repeat-watermark"\ntimes = 1000000000': "from 1 to 10,000, got 1000000000",
    'fault = "small-batches"\nevents = 1000000000': "from 1 to 1,000,000, got 1000000000",
    'wait = "100000d"': "8,640,000,000 watermarks",
    'generate = "test.t"\ninserts = 1000000000000': "got 1000000000000",
}


@pytest.mark.parametrize(("step", "words"), COUNTS.items())
def test_a_count_of_a_scenario_has_a_limit(step: str, words: str) -> None:
    Path("s.toml").write_text(f'[[step]]\nsql = "{SQL}"\n[[step]]\n{step}')
    assert words in refused("run", "s.toml", "--console")


def test_counts_of_a_truth_have_limits() -> None:
    Path("s.sql").write_text(SQL)
    assert play("run", "s.sql", "--fixtures", "out", "--truth", "truth") == 0
    file = Path("truth/truth.json")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "topics": {"topic": 10**9}}))
    assert "topic topic with 1,000,000,000 partitions: at most 10,000" in refused("verify", "out", "--truth", "truth")
    file.write_text(json.dumps({**document, "watermark": 10**30}))
    assert "is no TSO" in refused("verify", "out", "--truth", "truth")


# What is no file of a size

INPUTS = {
    "a scenario": ("run", "odd.toml", "--console"),
    "SQL": ("run", "odd.sql", "--console"),
    "changefeed.toml": ("run", "s.sql", "--console", "--config", "odd"),
    "a plan": ("load", "odd", "--console", "--duration", "1s"),
    "fixtures, read": ("inspect", "fixtures"),
    "fixtures, verified": ("verify", "fixtures"),
    "fixtures, compared": ("compare", "fixtures", "fixtures"),
    "a truth": ("verify", "out", "--truth", "truth"),
    "a schema": ("diff", "no-schema", "no-schema", "--console"),
    "rows": ("diff", "no-rows", "no-rows", "--console"),
    "a schema to explain": ("explain", "table", "a.t", "--schema", "odd"),
    "a certificate": ("serve", "--port", "0", "--tls-cert", "odd", "--tls-key", "odd"),
}
STORED = "storage/a/t/meta/schema_1_0000000001.json"
ODD = {"a FIFO": os.mkfifo, "a device": lambda path: path.symlink_to("/dev/zero")}


@pytest.mark.parametrize("kind", ODD)
def test_only_a_regular_file_is_read(kind: str) -> None:
    places = ["odd", "odd.toml", "odd.sql", "fixtures/topic/0.jsonl", "truth/truth.json", "no-schema/a.t-schema.sql"]
    for place in map(Path, [*places, "no-rows/a.t.csv", STORED]):
        place.parent.mkdir(parents=True, exist_ok=True)
        ODD[kind](place)
    Path("out/topic").mkdir(parents=True)
    Path("out/topic/0.jsonl").write_text("")
    Path("s.sql").write_text(SQL)
    Path("no-rows/a.t-schema.sql").write_text(SCHEMA)
    for name, command in INPUTS.items():
        assert f"it is no regular file but {kind}" in refused(*command), name
    code, out, _ = said("inspect", Path("storage").absolute())
    assert (
        code,
        f"UNREADABLE a/t/meta/schema_1_0000000001.json cannot be read: it is no regular file but {kind}" in out,
    ) == (0, True)


def test_a_pipe_of_the_shell_is_read() -> None:
    """`--config <(…)` is a pipe that is open already."""
    Path("s.sql").write_text(SQL)
    reading, writing = os.pipe()
    os.write(writing, b"case-sensitive = true\n")
    os.close(writing)
    assert play("run", "s.sql", "--fixtures", "out", "--config", f"/dev/fd/{reading}") == 0
    os.close(reading)


@pytest.mark.slow
def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("fixtures/topic").mkdir(parents=True)
    for name in ("big.sql", "big.toml", "fixtures/topic/0.jsonl"):
        with Path(name).open("wb") as file:
            file.truncate(100 << 30)
    for name in ("big.sql", "big.toml"):
        assert f"{name} is too large: at most 64 MiB" in refused("run", name, "--console")
    monkeypatch.setattr(limits, "LINE_BYTES", 1 << 20)
    assert "0.jsonl:1: the line is too long: at most 1 MiB" in refused("inspect", "fixtures")


def test_a_storage_is_no_whole_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FOREIGN_FILES", 100)
    for command in (("inspect", "file:///"), ("verify", "file:///"), ("compare", "file:///", "file:///")):
        assert "file:/// has more than 100 files that no changefeed writes, such as " in refused(*command)


@pytest.mark.slow
def test_an_insert_of_20_megabytes_is_played() -> None:
    """TiDB's limit of a statement is the limit of a file, too."""
    rows = ",".join(f"({key},'{'x' * 5_000_000}')" for key in range(4))
    Path("s.sql").write_text(f"{SCHEMA} INSERT INTO t VALUES {rows};")
    assert play("run", "s.sql", "--fixtures", "out") == 0


@pytest.mark.slow
def test_a_compressed_file_counts_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("small").mkdir()
    Path("small/a.t-schema.sql").write_text(SCHEMA)
    shutil.copytree("small", "large")
    monkeypatch.setattr(in_process, "MOST_BYTES", 20 << 20)
    with gzip.open("large/a.t.csv.gz", "wb", 1) as file:
        file.write(b"\0" * (30 << 20))
    assert Path("large/a.t.csv.gz").stat().st_size < 1 << 20
    assert "holds whole snapshots in memory" in refused("diff", "small", "large", "--console", "--master", "none")
    assert directory.decompressed([("large/a.t.csv.gz", 1)]) == 30 << 20
    with gzip.open("small/a.t-schema.sql.gz", "wb", 1) as file:
        file.write(b"\0" * (65 << 20))
    Path("small/a.t-schema.sql").unlink()
    assert "at most 64 MiB of such a file are read" in refused(
        "diff", "small", "small", "--console", "--master", "none"
    )


@pytest.mark.parametrize(("suffix", "head"), [("csv", '"'), ("sql", "INSERT INTO `t` VALUES (1,'")])
def test_a_row_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch, suffix: str, head: str) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1 << 20)
    Path("rows").mkdir()
    Path("rows/a.t-schema.sql").write_text(SCHEMA)
    Path(f"rows/a.t.{suffix}").write_text(head + "a" * (4 << 20))
    assert "line 1: a row that is too long: at most 1 MiB" in refused("diff", "rows", "rows", "--console")


# SQL without an end of one thing

PARENTHESES = "(" * 1_000_000
ENDLESS = {
    "parentheses": (f"{SQL} INSERT INTO t VALUES ({PARENTHESES}1);", "nested too deeply: at most 10,000 levels"),
    "balanced": (f"SELECT {PARENTHESES}1{')' * 1_000_000};", "nested too deeply: at most 10,000 levels"),
    "empty statements": (";" * 3_000_000, "it has no statement"),
    "comments on a line": ("/**/" * 100_000, "it has no statement"),
    "a long word": ("a" * 5_000_000, "a word of 5,000,000 characters: at most 65,536 are accepted"),
    "symbols": ("@" * 2_000_000, "too many words and symbols: at most 100,000 are accepted"),
    "mistakes": ("e;" * 100_000, "s.sql: these are the first 20 mistakes, and there are more"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("content", "words"), ENDLESS.values(), ids=list(ENDLESS))
def test_sql_without_an_end_is_refused_soon(monkeypatch: pytest.MonkeyPatch, content: str, words: str) -> None:
    if "words and symbols" in words:
        monkeypatch.setattr(limits, "SQL_TOKENS", 100_000)
    Path("s.sql").write_text(content)
    assert words in refused("run", "s.sql", "--console")


def test_a_schema_of_nul_characters_is_refused_soon() -> None:
    Path("a").mkdir()
    Path("a/a.t-schema.sql").write_text("\0" * 5_000_000)
    assert "line 1, column 1: a NUL character: this is no text" in refused("diff", "a", "a", "--console")
    Path("a/a.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v CHAR DEFAULT '\0');")
    assert play("diff", "a", "a", "--console", "--master", "none") == 0


def filtered(expression: str) -> tuple[int, list[str], list[str]]:
    """Exit code, the ids that are sent of two rows, and errors, where inserts are filtered by that expression."""
    Path("s.sql").write_text(f"{SQL} INSERT INTO t VALUES (20000, 100), (20001, 7);")
    Path("f.toml").write_text(
        f'[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-insert-value-expr = "{expression}"'
    )
    code, out, err = said("run", "s.sql", "--console", "--config", "f.toml")
    return code, re.findall(r" INSERT test\.t (id=\d+)", out), err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "sent"),
    [
        (f"id in ({', '.join(map(str, range(3_000)))})", ["id=20000", "id=20001"]),
        (" or ".join(f"id = {number}" for number in range(3_000)), ["id=20000", "id=20001"]),
        (f"v not in ({', '.join(map(repr, map(str, range(100, 3_100))))})", ["id=20000"]),
    ],
    ids=["IN", "OR", "NOT IN"],
)
def test_a_long_list_of_a_filter_takes_seconds(expression: str, sent: list[str]) -> None:
    started = time.process_time()
    assert filtered(expression)[:2] == (0, sent)
    assert time.process_time() - started < 4 * QUICK


@pytest.mark.slow
def test_a_million_parentheses_of_a_filter_are_one_error() -> None:
    code, _, lines = filtered(PARENTHESES)
    assert (code, "nested too deeply: at most 10,000 levels" in "\n".join(lines)) == (2, True)


# Statements that nest deeply: they have TiDB's result, or end in one message

TERMS = 1000
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT AS ({}))"
SUM = "+".join(["v"] * TERMS)
THOUSAND = {
    "VALUES": (f"INSERT INTO t (id, v) VALUES (1, {'+'.join(['1'] * TERMS)})", [(1, TERMS, 0)]),
    "UPDATE": (f"INSERT INTO t (id, v) VALUES (1, 2); UPDATE t SET v = {SUM}", [(1, 2 * TERMS, 0)]),
    "WHERE": (
        "INSERT INTO t (id, v) VALUES (1, 2), (2, 3); "
        f"DELETE FROM t WHERE {' OR '.join(f'id = {-n}' for n in range(TERMS))} OR id = 1",
        [(2, 3, 0)],
    ),
    "UNION ALL": (
        f"INSERT INTO t (id, v) {' UNION ALL '.join(f'SELECT {n}, 1' for n in range(TERMS))}",
        [(n, 1, 0) for n in range(TERMS)],
    ),
    "parentheses": (f"INSERT INTO t (id, v) VALUES (1, {'(' * 200}1{')' * 200})", [(1, 1, 0)]),
    "a generated column": ("INSERT INTO t (id, v) VALUES (1, 2)", [(1, 2, 2 * TERMS)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", THOUSAND)
def test_a_thousand_terms_are_computed(name: str) -> None:
    statements, rows = THOUSAND[name]
    with TiCDC() as ticdc:
        ticdc.execute(TABLE.format(SUM if name == "a generated column" else "0"))
        ticdc.execute(statements)
        assert [tuple(row.values()) for row in ticdc.rows("test.t")] == rows


DEEPER = 2 * NESTED_CALLS
"""More than any parser allows."""

STORY = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES ({})"
PLAN = '[[table]]\ndefinition = "CREATE TABLE t (id INT PRIMARY KEY, v INT AS ({}))"\nrows = 20\nmix = {{inserts = 1}}'
DEEP = {
    "+": "+".join(["1"] * DEEPER),
    "(": "(" * DEEPER + "1" + ")" * DEEPER,
    "NOT": "NOT " * DEEPER + "1",
    "-": "- " * DEEPER + "1",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "kind"),
    [(STORY, kind) for kind in DEEP] + [('[[step]]\nsql = "' + STORY + '"', "+"), (PLAN, "("), (PLAN, "NOT")],
)
def test_what_nests_more_deeply_is_refused_in_one_message(text: str, kind: str) -> None:
    name = "story.sql" if text == STORY else "story.toml"
    Path(name).write_text(text.format(DEEP[kind]))
    command = ("load", name, "--console", "--duration", "1ms") if text == PLAN else ("run", name, "--console")
    assert ["nested too deeply" in line for line in refused(*command).splitlines()] == [True]


def test_a_filter_that_nests_more_deeply_is_refused_in_one_message() -> None:
    code, _, lines = filtered(f"id = {DEEP['(']}")
    assert (code, ["nested too deeply" in line for line in lines if line.startswith("ticdc-sim: ")]) == (2, [True])


def test_queries_that_nest_more_deeply_are_refused() -> None:
    with TiCDC() as ticdc:
        ticdc.execute(TABLE.format("0"))
        with pytest.raises(SqlError, match="more than 100 queries are nested here"):
            ticdc.execute(f"SELECT {'(SELECT ' * 120}1{')' * 120}")


def test_a_limit_has_64_bits_without_a_sign() -> None:
    most = 2**64 - 1
    limited = {f"{most} OFFSET 1": [2, 3], f"{most}": [1, 2, 3], f"1, {most}": [2, 3], f"{most}, {most}": []}
    with TiCDC() as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
        for limit, ids in limited.items():
            for query in ("SELECT id FROM t ORDER BY id", "(SELECT id FROM t ORDER BY id)"):
                assert [row[0] for row in ticdc.execute(f"{query} LIMIT {limit}").rows] == [*map(str, ids)], (
                    query,
                    limit,
                )
