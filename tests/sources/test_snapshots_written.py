"""Files of snapshots that are written here: what reads snapshots finds in them what was written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.playing import rows_of
from support.random_tables import RandomTable, Value, tables

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import raw
from simulator.sources import snapshots
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Column, visible_columns
from simulator.truth import directory


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


def given_bytes(column: Column, value: Value | None) -> bytes | None:
    """As a SQL file has it."""
    if value is None:
        return None
    data = value if isinstance(value, bytes) else value.encode()
    return b"n" + data if column.type.name == "bit" else data


def is_text(value: Value | None) -> bool:
    return not isinstance(value, bytes) or value.decode(errors="replace").encode() == value


@pytest.mark.slow
@pytest.mark.parametrize("format", directory.FORMATS)
@settings(deadline=None, max_examples=30)
@given(data=st.data(), made=tables())
def test_rows_of_any_table_are_read_again(folder: Path, format: str, data: st.DataObject, made: RandomTable) -> None:
    table, columns = made.table, visible_columns(made.table)
    rows = data.draw(st.lists(st.fixed_dictionaries(dict(made.values)), min_size=1, max_size=8))
    assume(all(is_text(value) or name in made.binary for row in rows for name, value in row.items()))
    given = {
        column.name: pa.array([given_bytes(column, row[column.name]) for row in rows], pa.binary())
        for column in columns
    }
    texts = {column.name: raw(tidb_text(column.type, given[column.name])) for column in columns}
    assume(not any(column.not_null and texts[column.name].null_count for column in columns))
    for old in folder.iterdir():
        old.unlink()
    directory.write_schema(folder, table)
    with directory.TruthFiles(folder, format).of_table(table, data.draw(st.sampled_from([None, 0, 12]))) as file:
        file.write(texts)
        file.write({name: text.slice(1) for name, text in texts.items()})

    found = [row["image"] for row in rows_of(folder)[1]]
    images = row_image.pack(list(texts.values()))
    assert found == pa.concat_arrays([images, images.slice(1)]).to_pylist()


@pytest.mark.parametrize("format", directory.FORMATS)
def test_a_table_without_rows_is_a_file_without_rows(tmp_path: Path, format: str) -> None:
    table = create_table("CREATE TABLE `a.b`.`c-schema` (id INT PRIMARY KEY)")
    directory.write_schema(tmp_path, table)
    with directory.TruthFiles(tmp_path, format).of_table(table):
        pass
    (entry,) = snapshots.open(tmp_path).tables
    assert (entry.table.schema, entry.table.name) == ("a.b", "c-schema")
    assert rows_of(tmp_path)[1] == []


def test_a_snapshot_says_when_it_was_taken_and_which_databases_there_are(tmp_path: Path) -> None:
    directory.write_schema(tmp_path, create_table("CREATE TABLE shop.t (id INT PRIMARY KEY)"))
    directory.write_database(tmp_path, "shop")
    directory.write_database(tmp_path, "empty one")
    directory.write_metadata(tmp_path, tso.DEFAULT_START_TS, ("made for a test",))
    snapshot = snapshots.open(tmp_path)
    assert snapshot.start_ts == tso.DEFAULT_START_TS
    assert snapshot.databases == {"shop", "empty one"}
