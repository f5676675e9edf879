"""Every input has a limit: what is above it is refused by one message that names it, before time or memory is spent."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import play

from simulator import limits
from simulator.engines import in_process
from simulator.sources.snapshots import sizes

SQL = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"
SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT);"
QUICK = 5.0
"""Seconds of a refusal, on a busy machine."""

Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Plays a command that is refused soon, and returns what it says."""
    monkeypatch.chdir(tmp_path)
    Path("s.sql").write_text(SQL)

    def run(*arguments: str) -> str:
        started = time.monotonic()
        assert play(*arguments) == 2
        assert time.monotonic() - started < QUICK
        lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …")]
        return "\n".join(lines)

    return run


STEP = f'[[step]]\nsql = "{SQL}"\n[[step]]\n'
COUNTS = {
    "partitions of a fault": ('fault = "add-partitions"\npartitions = 100000000', "from 1 to 10,000, got 100000000"),
    "repeats": ('fault = "repeat-watermark"\ntimes = 1000000000', "from 1 to 10,000, got 1000000000"),
    "rows of a fault": ('fault = "small-batches"\nevents = 1000000000', "from 1 to 1,000,000, got 1000000000"),
    "a wait": ('wait = "100000d"', "8,640,000,000 watermarks"),
    "generated rows": ('generate = "test.t"\ninserts = 1000000000000', "got 1000000000000"),
}


@pytest.mark.parametrize("step, text", COUNTS.values(), ids=list(COUNTS))
def test_a_count_of_a_scenario_has_a_limit(said: Said, step: str, text: str) -> None:
    Path("s.toml").write_text(STEP + step)
    assert text in said("run", "s.toml", "--console")


OPTIONS = {
    "partition-num": (("--sink-uri", "kafka://h:1/t?protocol=canal-json&partition-num=100000000"), "at most 10,000"),
    "watermarks": (("--over", "30000d", "--resolved-interval", "1ms"), "at most 10,000,000 are accepted"),
}


@pytest.mark.parametrize("options, text", OPTIONS.values(), ids=list(OPTIONS))
def test_a_count_of_an_option_has_a_limit(said: Said, options: tuple[str, ...], text: str) -> None:
    assert text in said("run", "s.sql", "--fixtures", "out", *options)
    assert not Path("out").exists()


def test_counts_of_a_truth_have_limits(said: Said) -> None:
    assert play("run", "s.sql", "--fixtures", "out", "--truth", "truth") == 0
    file = Path("truth/truth.json")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "topics": {"topic": 10**9}}))
    assert "topic topic with 1,000,000,000 partitions: at most 10,000" in said("verify", "out", "--truth", "truth")
    file.write_text(json.dumps({**document, "watermark": 10**30}))
    assert "is no TSO" in said("verify", "out", "--truth", "truth")


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
ODD = {"a FIFO": os.mkfifo, "a device": lambda path: path.symlink_to("/dev/zero")}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("command", INPUTS.values(), ids=list(INPUTS))
def test_only_a_regular_file_is_read(said: Said, command: tuple[str, ...], kind: str) -> None:
    schema = Path("no-rows/a.t-schema.sql")
    places = ["odd", "odd.toml", "odd.sql", "fixtures/topic/0.jsonl", "truth/truth.json", "no-schema/a.t-schema.sql"]
    for place in [*map(Path, places), Path("no-rows/a.t.csv")]:
        place.parent.mkdir(parents=True, exist_ok=True)
        ODD[kind](place)
    Path("out/topic").mkdir(parents=True)
    Path("out/topic/0.jsonl").write_text("")
    schema.write_text(SCHEMA)
    assert f"it is no regular file but {kind}" in said(*command)


@pytest.mark.parametrize("kind", ODD)
def test_files_on_storage_that_are_not_regular_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """The others are shown."""
    schema = tmp_path / "a/t/meta/schema_1_0000000001.json"
    schema.parent.mkdir(parents=True)
    ODD[kind](schema)
    assert play("inspect", tmp_path) == 0
    assert f"UNREADABLE {schema.relative_to(tmp_path)} cannot be read: it is no regular file but {kind}" in (
        capsys.readouterr().out
    )


def test_a_pipe_of_the_shell_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--config <(…)` is a pipe that is open already."""
    monkeypatch.chdir(tmp_path)
    Path("s.sql").write_text(SQL)
    reading, writing = os.pipe()
    os.write(writing, b"case-sensitive = true\n")
    os.close(writing)
    assert play("run", "s.sql", "--fixtures", "out", "--config", f"/dev/fd/{reading}") == 0
    os.close(reading)


def test_a_file_that_is_too_large_is_not_read(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("big.sql", "big.toml"):
        with Path(name).open("wb") as file:
            file.truncate(100 << 30)
        assert f"{name} is too large: at most 64 MiB" in said("run", name, "--console")
    monkeypatch.setattr(limits, "LINE_BYTES", 1 << 20)
    Path("fixtures/topic").mkdir(parents=True)
    with Path("fixtures/topic/0.jsonl").open("wb") as file:
        file.truncate(100 << 30)
    assert "0.jsonl:1: the line is too long: at most 1 MiB" in said("inspect", "fixtures")


def test_a_storage_is_no_whole_disk(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FOREIGN_FILES", 100)
    for command in (("inspect", "file:///"), ("verify", "file:///"), ("compare", "file:///", "file:///")):
        assert "file:/// has more than 100 files that no changefeed writes, such as " in said(*command)


def test_an_insert_of_20_megabytes_is_played(tmp_path: Path) -> None:
    """TiDB's limit of a statement is the limit of a file, too."""
    rows = ",".join(f"({key},'{'x' * 5_000_000}')" for key in range(4))
    (tmp_path / "s.sql").write_text(f"{SCHEMA} INSERT INTO t VALUES {rows};")
    assert play("run", tmp_path / "s.sql", "--fixtures", tmp_path / "out") == 0


def test_a_compressed_file_counts_decompressed(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("small").mkdir()
    Path("small/a.t-schema.sql").write_text(SCHEMA)
    shutil.copytree("small", "large")
    monkeypatch.setattr(in_process, "MOST_BYTES", 20 << 20)
    with gzip.open("large/a.t.csv.gz", "wb", 1) as file:
        file.write(b"\0" * (30 << 20))
    assert Path("large/a.t.csv.gz").stat().st_size < 1 << 20
    assert "holds whole snapshots in memory" in said("diff", "small", "large", "--console", "--master", "none")
    assert sizes.decompressed([("large/a.t.csv.gz", 1)]) == 30 << 20
    with gzip.open("small/a.t-schema.sql.gz", "wb", 1) as file:
        file.write(b"\0" * (65 << 20))
    Path("small/a.t-schema.sql").unlink()
    assert "at most 64 MiB of such a file are read" in said("diff", "small", "small", "--console", "--master", "none")


@pytest.mark.parametrize("suffix, head", [("csv", b""), ("sql", b"INSERT INTO `t` VALUES (1,'")])
def test_a_row_without_an_end_is_refused(said: Said, monkeypatch: pytest.MonkeyPatch, suffix: str, head: bytes) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1 << 20)
    Path("rows").mkdir()
    Path("rows/a.t-schema.sql").write_text(SCHEMA)
    Path(f"rows/a.t.{suffix}").write_bytes(head + b'"' * (suffix == "csv") + b"a" * (4 << 20))
    assert "line 1: a row that is too long: at most 1 MiB" in said("diff", "rows", "rows", "--console")


DEEP = "(" * 1_000_000
PARENTHESES = {
    "SQL": ("s.sql", f"CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES ({DEEP}1);"),
    "balanced": ("s.sql", f"CREATE TABLE t (id INT PRIMARY KEY); SELECT {DEEP}1{')' * len(DEEP)};"),
    "a filter": ("f.toml", f'[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-insert-value-expr = "{DEEP}"'),
}


@pytest.mark.parametrize("file, content", PARENTHESES.values(), ids=list(PARENTHESES))
def test_a_million_parentheses_are_one_error(said: Said, file: str, content: str) -> None:
    Path("f.toml").write_text("")
    Path(file).write_text(content)
    assert "nested too deeply: at most 10,000 levels" in said("run", "s.sql", "--console", "--config", "f.toml")


SLOW = {
    "empty statements": (";" * 3_000_000, "it has no statement"),
    "comments on a line": ("/**/" * 100_000, "it has no statement"),
    "a long word": ("a" * 5_000_000, "a word of 5,000,000 characters: at most 65,536 are accepted"),
    "symbols": ("@" * 2_000_000, "too many words and symbols: at most 100,000 are accepted"),
    "mistakes": ("e;" * 100_000, "s.sql: these are the first 20 mistakes, and there are more"),
}


@pytest.mark.parametrize("content, text", SLOW.values(), ids=list(SLOW))
def test_sql_without_an_end_of_one_thing_is_refused_soon(
    said: Said, monkeypatch: pytest.MonkeyPatch, content: str, text: str
) -> None:
    monkeypatch.setattr(limits, "SQL_TOKENS", 100_000)
    Path("s.sql").write_text(content)
    assert text in said("run", "s.sql", "--console")


def test_a_schema_of_nul_characters_is_refused_soon(said: Said) -> None:
    """A NUL in a text is one of the text."""
    Path("a").mkdir()
    Path("a/a.t-schema.sql").write_text("\0" * 5_000_000)
    assert "line 1, column 1: a NUL character: this is no text" in said("diff", "a", "a", "--console")
    Path("a/a.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v CHAR DEFAULT '\0');")
    assert play("diff", "a", "a", "--console", "--master", "none") == 0


@pytest.mark.parametrize(
    "expression",
    [
        f"id in ({', '.join(map(str, range(3_000)))})",
        " or ".join(f"id = {number}" for number in range(3_000)),
        f"v not in ({', '.join(map(repr, map(str, range(100, 3_100))))})",
    ],
    ids=["IN", "OR", "NOT IN"],
)
def test_a_long_list_of_a_filter_takes_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], expression: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.sql").write_text(SQL + "INSERT INTO t VALUES (20000, 100), (20001, 7);")
    Path("f.toml").write_text(
        f'[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-insert-value-expr = "{expression}"'
    )
    started = time.monotonic()
    assert play("run", "s.sql", "--console", "--config", "f.toml") == 0
    assert time.monotonic() - started < 4 * QUICK
    sent = [line for line in capsys.readouterr().out.splitlines() if " INSERT " in line]
    wanted = ["id=20000"] if "not" in expression else ["id=20000", "id=20001"]
    assert [word for line in sent for word in line.split() if word.startswith("id=")] == wanted
