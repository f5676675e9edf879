"""The storage sink: where files lie, when they are cut, what is refused, and what is said of a storage that takes no more.

S3 is moto's server in this process.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer
from support.playing import error_of, output_of, play, said

from simulator import TiCDC, limits
from simulator.errors import DeliveryError, UserError
from simulator.reader.decode import RowEvent

RELEASE, NEW = "v8.0.0", "new:v8.5.7"
TABLE = "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))"
INSERT = "INSERT INTO shop.item VALUES ({}, 'pen')"


def csv(directory: Path, parameters: str = "") -> str:
    return f"{directory.as_uri()}?protocol=csv{parameters}"


def written(directory: Path) -> dict[str, str]:
    """The files below a directory, without schema files and dates."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes().decode()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and "/meta/schema_" not in path.as_posix()
    }


def rows_in(files: dict[str, str]) -> list[str]:
    return [text for path, text in files.items() if path.endswith(".csv")]


def names_in(files: dict[str, str]) -> list[str]:
    return [path.rpartition("/")[2] for path in files if path.endswith(".csv")]


def played(directory: Path, *statements: str, uri: str = "", config: str = "", wait: str = "") -> dict[str, str]:
    """What a changefeed writes for statements on shop.item."""
    sink_uri = csv(directory, f"&flush-interval=2s{uri}")
    with TiCDC(RELEASE, sink_uri=sink_uri, config=config or None, databases=("shop",)) as ticdc:
        for statement in (TABLE, *statements):
            ticdc.execute(statement)
            if wait:
                ticdc.wait(wait)
    return written(directory)


def test_the_checkpoint_is_above_all_rows(tmp_path: Path) -> None:
    files = played(tmp_path, INSERT.format(1), config="[sink.csv]\ninclude-commit-ts = true\n")

    (row,) = rows_in(files)
    assert int(row.split(",")[3]) < json.loads(files["metadata"])["checkpoint-ts"]


def test_a_flush_interval_of_simulated_time_makes_a_file(tmp_path: Path) -> None:
    files = played(tmp_path, *(INSERT.format(number) for number in (1, 2, 3)), wait="3s")

    assert names_in(files) == [f"CDC{number:020d}.csv" for number in (1, 2, 3)]
    assert [text for path, text in files.items() if path.endswith("CDC.index")] == [f"{names_in(files)[-1]}\n"]


@pytest.mark.slow
def test_a_file_ends_behind_the_transaction_that_reaches_file_size(tmp_path: Path) -> None:
    insert = "INSERT INTO shop.page VALUES ({0}, REPEAT('x', 100000)), ({0} + 1, REPEAT('y', 100000))"
    statements = [insert.format(number) for number in range(0, 30, 2)]
    pages = "CREATE TABLE shop.page (id INT PRIMARY KEY, t MEDIUMTEXT)"

    sizes = [len(text) for text in rows_in(played(tmp_path, pages, *statements, uri="&file-size=1048576"))]
    assert len(sizes) == 3
    assert all(1 << 20 <= size < (1 << 20) + 201_000 for size in sizes[:-1])


def test_numbers_go_on_after_those_of_an_earlier_changefeed(tmp_path: Path) -> None:
    for number in (1, 2):
        played(tmp_path, INSERT.format(number))
    assert names_in(written(tmp_path)) == ["CDC00000000000000000001.csv", "CDC00000000000000000002.csv"]


def test_strings_without_quotes_are_escaped(tmp_path: Path) -> None:
    insert = r"INSERT INTO shop.item VALUES (1, 'a|b\\c\r\nd')"
    files = played(tmp_path, insert, config="[sink.csv]\nquote = ''\ndelimiter = '|'\n")

    assert rows_in(files) == ["I|item|shop|1|a\\|b\\\\c\\r\\nd\r\n"]


def changed(directory: Path, release: str, config: str = "") -> Path:
    """Files of statements that differ between the architectures."""
    sink_uri = csv(directory, "&flush-interval=500ms")
    with TiCDC(release, sink_uri=sink_uri, config=config or None, databases=("a", "b")) as ticdc:
        ticdc.execute("CREATE TABLE a.p (id INT PRIMARY KEY, e ENUM('x', '<y>')) PARTITION BY HASH (id) PARTITIONS 2")
        ticdc.execute("CREATE TABLE b.t (id INT PRIMARY KEY, e ENUM('x', '<y>'))")
        ticdc.execute("ALTER TABLE a.p EXCHANGE PARTITION p0 WITH TABLE b.t; INSERT INTO b.t VALUES (1, 'x')")
    return directory


@pytest.mark.parametrize("release", ["v8.5.3", "new:v8.5.4", NEW])
def test_an_exchange_is_in_the_file_of_the_partitioned_table(tmp_path: Path, release: str) -> None:
    changed(tmp_path, release)

    queries = {
        table: [json.loads(path.read_text())["Query"] for path in sorted((tmp_path / table / "meta").glob("schema_*"))]
        for table in ("a/p", "b/t")
    }
    assert ["EXCHANGE" in query for query in queries["a/p"]] == [False, True]
    assert queries["b/t"][1] == ""


def test_files_of_the_new_architecture(tmp_path: Path) -> None:
    """Schema files have the members of enums. A table across nodes has its dispatcher in the names of files, which
    otherwise are those of the classic architecture."""
    whole = changed(tmp_path / "whole", NEW)
    across = changed(tmp_path / "across", NEW, "[scheduler]\nenable-table-across-nodes = true\n")

    text = next((whole / "b/t/meta").glob("schema_*")).read_text()
    assert json.loads(text)["TableColumns"][1]["ColumnElems"] == ["x", "<y>"]
    lines = [
        '            "ColumnElems": [',
        '                "x",',
        '                "\\u003cy\\u003e"',
        "            ]",
    ]
    assert "\n".join(lines) in text
    assert sorted(path.name for path in whole.rglob("CDC*")) == ["CDC.index", "CDC00000000000000000001.csv"]
    index, file = sorted((path.name for path in across.rglob("CDC*")), key=len)
    dispatcher = index.removeprefix("CDC_").removesuffix(".index")
    assert dispatcher.isdecimal() and file == f"CDC_{dispatcher}_00000000000000000001.csv"


def test_the_new_architecture_takes_shorter_intervals_and_smaller_files(tmp_path: Path) -> None:
    uri = csv(tmp_path, "&flush-interval=500ms&file-size=2048")
    assert [len(TiCDC(release, sink_uri=uri).warnings) for release in (RELEASE, NEW)] == [2, 0]


def test_events_are_those_of_new_files_and_there_are_no_messages(tmp_path: Path) -> None:
    with TiCDC(RELEASE, sink_uri=csv(tmp_path), databases=("shop",)) as ticdc:
        ticdc.execute(TABLE)
        ticdc.execute(INSERT.format(1))
        first = ticdc.events()
        ticdc.execute("INSERT INTO shop.item VALUES (2, 'cup')")
        second = ticdc.events()
        with pytest.raises(UserError, match="writes files to its storage"):
            ticdc.messages()

    assert [type(event).__name__ for event in first] == ["DdlEvent", "RowEvent", "Watermark"]
    assert [event.after for event in second if isinstance(event, RowEvent)] == [{"id": "2", "name": "cup"}]


def test_a_scenario_expects_rows_and_statements_of_files(tmp_path: Path) -> None:
    story = tmp_path / "story.toml"
    expected = '"DDL shop.item [3] …", "INSERT shop.item id=1 name=pen"'
    story.write_text(
        f'[[step]]\nsql = "USE test; CREATE DATABASE shop"\n[[step]]\nexpect = ["DDL shop [1] …"]\n[[step]]\n'
        f'sql = "{TABLE}; {INSERT.format(1)}"\n[[step]]\nexpect = [{expected}]\n'
    )
    command = "run", story, "--sink-uri", csv(tmp_path / "out"), "--release", RELEASE
    assert play(*command) == 0

    story.write_text(story.read_text().replace("name=pen", "name=cup"))
    assert "+ INSERT shop.item id=1 name=pen" in error_of(*command, code=1)

    story.write_text('[[step]]\nsql = "CREATE DATABASE d"\n[[step]]\nexpect = {counts = {messages = 1}}\n')
    assert "counts messages, and this changefeed writes files" in error_of(*command)


def test_the_summary_of_a_run_counts_the_files_of_rows(tmp_path: Path) -> None:
    story, summary = tmp_path / "story.sql", tmp_path / "summary.json"
    story.write_text(f"CREATE DATABASE shop; {TABLE}; INSERT INTO shop.item VALUES (1, 'pen'), (2, 'cup')")

    assert "2 row changes in 1 file, " in output_of(
        "run", story, "--sink-uri", csv(tmp_path / "out"), "--release", RELEASE, "--summary", summary
    )
    (file,) = (tmp_path / "out").rglob("*.csv")
    assert json.loads(summary.read_text())["bytes"] == file.stat().st_size


# -- storages that take no more -------------------------------------------------------------------------------------


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """Rows of two tables, of which one has a long text, and of one that gets another column."""
    (tmp_path / "story.sql").write_text(
        "CREATE DATABASE shop; USE shop; CREATE TABLE item (id INT PRIMARY KEY, name MEDIUMTEXT); "
        "CREATE TABLE sale (id INT PRIMARY KEY); INSERT INTO item VALUES (1, REPEAT('x', 100000)); "
        "INSERT INTO sale VALUES (1); ALTER TABLE sale ADD COLUMN price INT; INSERT INTO sale VALUES (2, 3);"
    )
    return tmp_path / "story.sql"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB; without the right to mount one, no test."""
    directory = tmp_path / "small"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.decode().strip()}")
    yield directory
    subprocess.run(["umount", directory], check=True)


def refused(story: Path, directory: Path) -> str:
    """The one line of the error."""
    error = error_of("run", story, "--sink-uri", csv(directory), "--master", "none", code=3)
    assert "\n" not in error
    return error.removeprefix(f"ticdc-sim: sink-uri {directory.as_uri()}")


def test_a_directory_that_cannot_be_made_is_named_before_anything_is_sent(story: Path) -> None:
    file = story.with_name("file")
    file.touch()
    assert refused(story, file / "out") == " cannot be written to: Not a directory"
    with pytest.raises(DeliveryError, match="cannot be written to: Not a directory"):
        TiCDC(RELEASE, sink_uri=csv(file / "below"))


def test_the_first_file_that_cannot_be_written_ends_the_run(story: Path) -> None:
    """A file is in the place of the directory of a table's rows; its schema files can be written."""
    directory = story.parent / "out"
    assert play("run", story, "--sink-uri", csv(directory), "--master", "none") == 0
    rows = min(directory.glob("shop/sale/4*"))
    for path in sorted(rows.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    rows.rmdir()
    rows.touch()

    error = refused(story, directory)
    assert error.startswith(f": shop/sale/{rows.name}/2025-01-01/meta/CDC.index cannot be ") and "irectory" in error


@pytest.mark.slow
def test_a_full_file_system_is_told(story: Path, small: Path) -> None:
    error = refused(story, small)
    assert error.startswith(": shop/item/") and error.endswith(".csv cannot be written: No space left on device")
    assert not [*small.rglob(".*")], "no half file stays"


# -- S3 -------------------------------------------------------------------------------------------------------------

SECRET = "topsecret"


@pytest.fixture(name="endpoint", scope="module")
def _endpoint() -> Iterator[str]:
    """The URL of an S3 server with the bucket `lake`."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    bucket(endpoint := f"http://{host}:{port}", "lake")
    yield endpoint
    server.stop()


def bucket(endpoint: str, name: str) -> fsspec.AbstractFileSystem:
    files = fsspec.filesystem("s3", key="key", secret=SECRET, endpoint_url=endpoint)
    files.mkdir(name)
    return files


def s3(endpoint: str, place: str) -> str:
    return f"s3://{place}?protocol=csv&endpoint={endpoint}&access-key=key&secret-access-key={SECRET}"


@pytest.mark.slow
def test_a_bucket_gets_the_files_of_a_directory(story: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has the limits of local ones."""
    places = s3(endpoint, "lake/cdc"), csv(story.parent / "files")
    shown = []
    for place in places:
        assert play("run", story, "--release", "v8.1.0", "--sink-uri", place) == 0
        shown.append(output_of("inspect", place))
    assert shown[0] == shown[1] and "INSERT shop.sale id=2 price=3" in shown[0]
    assert play("compare", *places, "--exact") == 0

    monkeypatch.setattr(limits, "STORED_FILE_BYTES", 200)
    assert "bytes: at most 200 bytes are accepted" in output_of("inspect", places[0])
    monkeypatch.setattr(limits, "FOREIGN_FILES", 0)
    bucket(endpoint, "other").pipe_file("lake/cdc/mine.txt", b"")
    assert "more than 0 files that no changefeed writes, such as 'mine.txt'" in error_of("inspect", places[0])


@pytest.mark.slow
def test_a_missing_bucket_is_named_without_the_secret(story: Path, endpoint: str) -> None:
    code, _, lines = said("run", story, "--release", "v8.1.0", "--sink-uri", s3(endpoint, "nowhere/cdc"))
    error = "\n".join(lines)
    assert code == 3 and "s3://nowhere/cdc" in error and "cannot be" in error and SECRET not in error
    assert "Traceback" not in error


@pytest.mark.slow
def test_a_bucket_that_is_lost_on_the_way_ends_the_run(endpoint: str) -> None:
    files = bucket(endpoint, "lost")
    with pytest.raises(DeliveryError) as ended:
        with TiCDC("v8.1.0", sink_uri=s3(endpoint, "lost/cdc"), databases=("shop",)) as ticdc:
            ticdc.execute(TABLE)
            files.rm("lost", recursive=True)
            ticdc.execute(INSERT.format(1))

    (line,) = ended.value.args
    assert line.startswith("sink-uri s3://lost/cdc") and "cannot be" in line and SECRET not in line
    assert "\n" not in line
