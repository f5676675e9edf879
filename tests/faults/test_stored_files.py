"""Faults of a changefeed that writes files to a storage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.errors import UserError
from simulator.reader.storage.directory import open_directory
from simulator.reader.storage.events import lines
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions

TIMED = "[sink.csv]\ninclude-commit-ts = true\n"
TABLE = "CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)"


def opened(directory: Path) -> TiCDC:
    """A changefeed that writes CSV, after a first file."""
    uri = f"{directory.as_uri()}?protocol=csv&flush-interval=2s"
    ticdc = TiCDC("v8.5.3", sink_uri=uri, config=TIMED, databases=("shop",))
    ticdc.execute(TABLE)
    ticdc.wait("3s")
    return ticdc


def shown(directory: Path) -> list[str]:
    """The lines of `inspect` about rows: the file's name and the event."""
    config = directory.parent / "changefeed.toml"
    config.write_text(TIMED)
    read = open_directory(str(directory), config)
    rows = (line.split("/")[-1] for line in lines(read) if "/CDC" in line or "CDC.index" in line)
    return [f"{line.split()[0]} {' '.join(line.split()[1 if 'UNREADABLE' in line else 3 :])}" for line in rows]


def checkpoint(directory: Path) -> int:
    found: int = json.loads((directory / "metadata").read_text())["checkpoint-ts"]
    return found


FIRST, SECOND = (f"CDC{number:020d}.csv" for number in (1, 2))
ONE = f"{FIRST}:1 INSERT shop.item id=1"


def test_the_index_names_a_file_that_never_comes(tmp_path: Path) -> None:
    directory = tmp_path / "out"
    with opened(directory) as ticdc:
        before = checkpoint(directory)
        ticdc.fault("index-before-data")
        ticdc.execute("INSERT INTO shop.item VALUES (2)")
        assert next(directory.rglob("CDC.index")).read_text() == f"{SECOND}\n"
        ticdc.wait("10s")

    assert shown(directory) == [ONE, f"CDC.index UNREADABLE it names {SECOND}, which is not there"]
    assert checkpoint(directory) == before


@pytest.mark.parametrize("end", ["for", "statement"])
def test_the_file_comes_when_the_fault_is_over_or_a_statement_is_sent(tmp_path: Path, end: str) -> None:
    directory = tmp_path / "out"
    with opened(directory) as ticdc:
        before = checkpoint(directory)
        ticdc.fault("index-before-data", table="shop.item", **({"for_": "5s"} if end == "for" else {}))
        ticdc.execute("INSERT INTO shop.item VALUES (2)")
        ticdc.wait("3s")
        assert checkpoint(directory) == before
        ticdc.execute("INSERT INTO shop.item VALUES (3)")
        ticdc.wait("5s") if end == "for" else ticdc.execute("CREATE TABLE shop.page (id INT PRIMARY KEY)")

    assert shown(directory)[:2] == [ONE, f"{SECOND}:1 INSERT shop.item id=2"]
    assert shown(directory)[2].endswith("INSERT shop.item id=3")
    assert checkpoint(directory) > before


def test_a_file_ends_in_the_middle_of_its_last_row(tmp_path: Path) -> None:
    directory = tmp_path / "out"
    with opened(directory) as ticdc:
        ticdc.fault("truncated-file")
        ticdc.execute("INSERT INTO shop.item VALUES (2), (3)")
        ticdc.wait("3s")
        ticdc.execute("INSERT INTO shop.item VALUES (4)")

    assert shown(directory)[1:] == [
        f"{SECOND}:1 INSERT shop.item id=2",
        f"{SECOND}:2 UNREADABLE the file ends inside a row",
        f"CDC{3:020d}.csv:1 INSERT shop.item id=4",
    ]


@pytest.mark.parametrize(("fault", "keys"), [("restart", {}), ("move-table", {"table": "shop.item"})])
def test_rows_above_the_checkpoint_are_written_again(tmp_path: Path, fault: str, keys: dict[str, str]) -> None:
    directory = tmp_path / "out"
    with opened(directory) as ticdc:
        ticdc.execute("INSERT INTO shop.item VALUES (2)")
        ticdc.fault(fault, **keys)
        ticdc.execute("INSERT INTO shop.item VALUES (3)")

    assert sorted(line.rpartition("=")[2] for line in shown(directory)) == ["1", "2", "2", "3"]


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
@pytest.mark.parametrize("fault", ["truncated-row", "corrupt-json", "unknown-type"])
def test_a_row_in_the_middle_of_a_file_is_broken(tmp_path: Path, protocol: str, fault: str) -> None:
    uri = f"{tmp_path.as_uri()}/out?protocol={protocol}&enable-tidb-extension=true"
    with TiCDC("v8.5.3", sink_uri=uri, config=TIMED if protocol == "csv" else None, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name TEXT); INSERT INTO shop.item VALUES (1, 'a')")
        if (protocol, fault) == ("csv", "corrupt-json"):
            with pytest.raises(UserError, match="writes no JSON; truncated-row breaks a row of it"):
                ticdc.fault(fault)
            return
        ticdc.fault(fault)
        ticdc.execute("INSERT INTO shop.item VALUES (2, 'pen'); INSERT INTO shop.item VALUES (3, 'ink')")
        ticdc.truth(tmp_path / "truth")

    first, broken, last = shown(tmp_path / "out")
    assert first.endswith(":1 INSERT shop.item id=1 name=a") and last.endswith(":3 INSERT shop.item id=3 name=ink")
    assert ":2 UNREADABLE " in broken
    checked = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth", master="none"))
    assert {"unreadable", "row-missing"} <= {failure.check for failure in checked.failures}


def test_faults_that_a_release_or_a_sink_cannot_have_are_refused(tmp_path: Path) -> None:
    with TiCDC("new:v8.5.7", sink_uri=f"{tmp_path.as_uri()}/new?protocol=csv") as ticdc:
        with pytest.raises(UserError, match="writes the index after the file"):
            ticdc.fault("index-before-data")
    with opened(tmp_path / "out") as ticdc:
        with pytest.raises(UserError, match="about Kafka's messages, and the sink is a storage"):
            ticdc.fault("late-partition", partition=0, by="2s")
    with TiCDC() as ticdc:
        with pytest.raises(UserError, match="about files, and the sink is Kafka"):
            ticdc.fault("truncated-file")
