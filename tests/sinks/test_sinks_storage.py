"""The storage sink: where files lie, when they are cut, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.cli import run
from simulator.consumer.decode import RowEvent
from simulator.errors import ChangefeedError, DeliveryError, UserError

RELEASE = "v8.0.0"
TABLE = "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))"


def written(directory: Path) -> dict[str, str]:
    """The files below a directory, without schema files and dates."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes().decode()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and "/meta/schema_" not in path.as_posix()
    }


def played(directory: Path, *statements: str, uri: str = "", config: str = "", wait: str = "") -> dict[str, str]:
    """What a changefeed writes for statements on shop.item."""
    sink_uri = f"{directory.as_uri()}?protocol=csv&flush-interval=2s{uri}"
    with TiCDC(RELEASE, sink_uri=sink_uri, config=config or None, databases=("shop",)) as ticdc:
        for statement in (TABLE, *statements):
            ticdc.execute(statement)
            if wait:
                ticdc.wait(wait)
    return written(directory)


def test_the_checkpoint_is_above_all_rows(tmp_path: Path) -> None:
    files = played(tmp_path, "INSERT INTO shop.item VALUES (1, 'pen')", config="[sink.csv]\ninclude-commit-ts = true\n")

    (row,) = (text for path, text in files.items() if path.endswith(".csv"))
    assert int(row.split(",")[3]) < json.loads(files["metadata"])["checkpoint-ts"]


def test_a_flush_interval_of_simulated_time_makes_a_file(tmp_path: Path) -> None:
    """And the index names the last one."""
    insert = "INSERT INTO shop.item VALUES ({0}, 'pen')"
    files = played(tmp_path, *(insert.format(number) for number in (1, 2, 3)), wait="3s")

    names = [path.rpartition("/")[2] for path in files if path.endswith(".csv")]
    assert [f"CDC{number:020d}.csv" for number in (1, 2, 3)] == names
    assert [f"{names[-1]}\n"] == [text for path, text in files.items() if path.endswith("CDC.index")]


def test_a_file_ends_behind_the_transaction_that_reaches_file_size(tmp_path: Path) -> None:
    insert = "INSERT INTO shop.page VALUES ({0}, REPEAT('x', 20000)), ({0} + 1, REPEAT('y', 20000))"
    statements = [insert.format(number) for number in range(0, 120, 2)]
    files = played(
        tmp_path, "CREATE TABLE shop.page (id INT PRIMARY KEY, t TEXT)", *statements, uri="&file-size=1048576"
    )

    sizes = [len(text) for path, text in files.items() if path.endswith(".csv")]
    assert len(sizes) == 3
    assert all(1 << 20 <= size < (1 << 20) + 41_000 for size in sizes[:-1])


def test_numbers_go_on_after_those_of_an_earlier_changefeed(tmp_path: Path) -> None:
    sink_uri = f"{tmp_path.as_uri()}?protocol=csv"
    for number in (1, 2):
        with TiCDC(RELEASE, sink_uri=sink_uri, databases=("shop",)) as ticdc:
            ticdc.execute(TABLE)
            ticdc.execute(f"INSERT INTO shop.item VALUES ({number}, 'pen')")

    names = [path.rpartition("/")[2] for path in written(tmp_path) if path.endswith(".csv")]
    assert ["CDC00000000000000000001.csv", "CDC00000000000000000002.csv"] == names


NEW = "new:v8.5.7"


def changed(directory: Path, release: str, config: str = "") -> None:
    """Files of statements that differ between the architectures."""
    sink_uri = f"{directory.as_uri()}?protocol=csv&flush-interval=500ms"
    with TiCDC(release, sink_uri=sink_uri, config=config or None, databases=("a", "b")) as ticdc:
        ticdc.execute("CREATE TABLE a.p (id INT PRIMARY KEY, e ENUM('x', '<y>')) PARTITION BY HASH (id) PARTITIONS 2")
        ticdc.execute("CREATE TABLE b.t (id INT PRIMARY KEY, e ENUM('x', '<y>'))")
        ticdc.execute("ALTER TABLE a.p EXCHANGE PARTITION p0 WITH TABLE b.t; INSERT INTO b.t VALUES (1, 'x')")


@pytest.mark.parametrize("release", ["v8.5.3", "new:v8.5.4", NEW])
def test_an_exchange_is_in_the_file_of_the_partitioned_table(tmp_path: Path, release: str) -> None:
    changed(tmp_path, release)

    queries = {
        table: [json.loads(path.read_text())["Query"] for path in sorted((tmp_path / table / "meta").glob("schema_*"))]
        for table in ("a/p", "b/t")
    }
    assert ["EXCHANGE" in query for query in queries["a/p"]] == [False, True]
    assert queries["b/t"][1] == ""


def test_schema_files_of_the_new_architecture_have_the_members_of_enums(tmp_path: Path) -> None:
    changed(tmp_path, NEW)

    file = next((tmp_path / "b/t/meta").glob("schema_*"))
    assert json.loads(file.read_text())["TableColumns"][1]["ColumnElems"] == ["x", "<y>"]
    assert (
        '            "ColumnElems": [\n                "x",\n                "\\u003cy\\u003e"\n            ]'
        in file.read_text()
    )


def test_a_table_across_nodes_has_its_dispatcher_in_names(tmp_path: Path) -> None:
    """By default files are called as in the classic architecture."""
    changed(tmp_path / "whole", NEW)
    changed(tmp_path / "across", NEW, "[scheduler]\nenable-table-across-nodes = true\n")

    names = {place: sorted(path.name for path in (tmp_path / place).rglob("CDC*")) for place in ("whole", "across")}
    assert names["whole"] == ["CDC.index", "CDC00000000000000000001.csv"]
    index, file = sorted(names["across"], key=len)
    dispatcher = index.removeprefix("CDC_").removesuffix(".index")
    assert dispatcher.isdecimal() and file == f"CDC_{dispatcher}_00000000000000000001.csv"


def test_the_new_architecture_takes_shorter_intervals_and_smaller_files(tmp_path: Path) -> None:
    uri = f"{tmp_path.as_uri()}?protocol=csv&flush-interval=500ms&file-size=2048"
    assert [len(TiCDC(release, sink_uri=uri).warnings) for release in (RELEASE, NEW)] == [2, 0]


def test_strings_without_quotes_are_escaped(tmp_path: Path) -> None:
    insert = r"INSERT INTO shop.item VALUES (1, 'a|b\\c\r\nd')"
    files = played(tmp_path, insert, config="[sink.csv]\nquote = ''\ndelimiter = '|'\n")

    assert ["I|item|shop|1|a\\|b\\\\c\\r\\nd\r\n"] == [text for path, text in files.items() if path.endswith(".csv")]


@pytest.mark.parametrize(
    ("uri", "config", "expected"),
    [
        ("file:///tmp/x?protocol=open-protocol", "", "unknown 'open-protocol' message protocol for sink"),
        ("file:///tmp/x?protocol=csv&worker-count=0", "", "invalid worker-count 0, it must be greater than 0"),
        ("file:///tmp/x?protocol=csv&flush-interval=2", "", 'missing unit in duration "2"'),
        (
            "file:///tmp/x?protocol=csv",
            "[sink]\ndate-separator = 'hour'\n",
            "date separator in storage sink is invalid",
        ),
        ("file:///tmp/x?protocol=csv", "[sink.csv]\nquote = ','\n", "quote and delimiter has common characters"),
        ("file:///tmp/x?protocol=csv", "[sink.csv]\ndelimiter = ''\n", "delimiter cannot be empty"),
        ("kafka://127.0.0.1:9092/t?protocol=csv", "", "unknown 'csv' message protocol for sink"),
    ],
)
def test_settings_that_ticdc_refuses(uri: str, config: str, expected: str) -> None:
    with pytest.raises(ChangefeedError, match=expected):
        TiCDC(RELEASE, sink_uri=uri, config=config or None)


def test_a_storage_that_cannot_be_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DeliveryError, match="cannot be written to: Not a directory"):
        TiCDC(RELEASE, sink_uri=f"{(tmp_path / 'file').as_uri()}/below?protocol=csv")


def test_there_are_no_messages(tmp_path: Path) -> None:
    with TiCDC(RELEASE, sink_uri=f"{tmp_path.as_uri()}?protocol=csv") as ticdc:
        with pytest.raises(UserError, match="writes files to its storage"):
            ticdc.messages()


def test_events_are_those_of_new_files(tmp_path: Path) -> None:
    with TiCDC(RELEASE, sink_uri=f"{tmp_path.as_uri()}?protocol=csv", databases=("shop",)) as ticdc:
        ticdc.execute(TABLE)
        ticdc.execute("INSERT INTO shop.item VALUES (1, 'pen')")
        first = ticdc.events()
        ticdc.execute("INSERT INTO shop.item VALUES (2, 'cup')")
        second = ticdc.events()

    assert [type(event).__name__ for event in first] == ["DdlEvent", "RowEvent", "Watermark"]
    assert [event.after for event in second if isinstance(event, RowEvent)] == [{"id": "2", "name": "cup"}]


def test_a_scenario_expects_rows_and_statements_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, sink_uri = tmp_path / "story.toml", f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    expected = '"DDL shop.item [3] …", "INSERT shop.item id=1 name=pen"'
    story.write_text(
        f'[[step]]\nsql = "USE test; CREATE DATABASE shop"\n[[step]]\nexpect = ["DDL shop [1] …"]\n[[step]]\n'
        f"sql = \"{TABLE}; INSERT INTO shop.item VALUES (1, 'pen')\"\n[[step]]\nexpect = [{expected}]\n"
    )
    command = ["run", str(story), "--sink-uri", sink_uri, "--release", RELEASE]
    assert run(command) == 0

    story.write_text(story.read_text().replace("name=pen", "name=cup"))
    assert run(command) == 1
    assert "+ INSERT shop.item id=1 name=pen" in capsys.readouterr().err

    story.write_text('[[step]]\nsql = "CREATE DATABASE d"\n[[step]]\nexpect = {counts = {messages = 1}}\n')
    assert run(command) == 2
    assert "counts messages, and this changefeed writes files" in capsys.readouterr().err


def test_the_summary_of_a_run_counts_the_files_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, summary = tmp_path / "story.sql", tmp_path / "summary.json"
    story.write_text(f"CREATE DATABASE shop; {TABLE}; INSERT INTO shop.item VALUES (1, 'pen'), (2, 'cup')")
    sink_uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"

    assert run(["run", str(story), "--sink-uri", sink_uri, "--release", RELEASE, "--summary", str(summary)]) == 0

    assert "2 row changes in 1 file, " in capsys.readouterr().out
    (file,) = (tmp_path / "out").rglob("*.csv")
    assert json.loads(summary.read_text())["bytes"] == file.stat().st_size
