"""Streams as Apache Flink's formats canal-json, in strict mode, and debezium-json read them: every message is accepted, and
the table that it keeps goes from one snapshot to the next, old values included.

What Flink does with the options and messages here is documented nowhere but in its source (flink-formats/flink-json).
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given, reject, settings
from support.codec_expected import LOST, Case, expected
from support.codec_readings import Texts
from support.codec_refusals import cases, encoded_if_not_refused
from support.databases import AIRPORTS
from support.java_programs import Flink, Refused, as_read, as_sent, flink_contents, only, texts, typed
from support.playing import play, row_of, state, tables_of
from support.random_tables import Change

from simulator import TiCDC
from simulator.reader.records import read_records
from simulator.releases import DEFAULT, V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.tidb.model.table import Column, visible_columns
from simulator.tidb.model.types import family, is_binary

pytestmark = pytest.mark.interop

URI = "kafka://127.0.0.1:9092/all?protocol=canal-json&partition-num=1"


class Stream(NamedTuple):
    """A changefeed of one release."""

    release: str
    architecture: str = "classic"
    parameters: str = ""
    sink: str = ""
    file: str = ""
    """What stands above `[sink]` in changefeed.toml."""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.release, self.architecture, self.parameters, self.sink)))

    @property
    def config(self) -> str:
        return f"{self.file}\n[sink]\n{self.sink}"

    def play(self, before: Path, after: Path, folder: Path) -> list[bytes]:
        """Values of the messages between two snapshots, in order."""
        (folder / "changefeed.toml").write_text(self.config)
        options = ("--release", self.release, "--architecture", self.architecture, "--fixtures", folder / "out")
        uri = f"{URI}&{self.parameters}"
        assert play("diff", before, after, "--sink-uri", uri, "--config", folder / "changefeed.toml", *options) == 0
        return [record.value for record in read_records(str(folder / "out")) if record.value is not None]


EXTENDED, UPDATED = "enable-tidb-extension=true", "only-output-updated-columns = true"
STREAMS = [
    Stream("v4.0.9", file="enable-old-value = true"),
    Stream("v5.4.3"),
    Stream("v6.5.6", parameters="content-compatible=true"),
    Stream("v7.5.0", parameters=EXTENDED, sink=UPDATED),
    Stream(DEFAULT),
    Stream(DEFAULT, parameters=EXTENDED, sink=UPDATED),
    Stream("v8.5.7", "new", EXTENDED, UPDATED),
]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_airports_go_from_one_release_to_the_next(flink: Flink, tmp_path: Path, stream: Stream) -> None:
    """Some thousand changes, each with the old values that the table has, with columns of text and with typed ones."""
    messages = stream.play(*AIRPORTS, tmp_path)
    ((name, table),) = tables_of(*AIRPORTS).items()
    before, after = (
        Counter(as_sent(table, row_of(image, table)) for image in state(directory)[name]) for directory in AIRPORTS
    )
    assert before != after
    for as_flink in (texts, typed):
        assert flink_contents(flink, table, as_flink, messages, before) == after


def test_rows_of_any_table_and_values_are_the_changes_that_they_were(flink: Flink) -> None:
    """Of any release that has the protocol, with any options: Flink refuses, loses and changes nothing."""

    @settings(max_examples=100)
    @given(cases("canal-json"))
    def whatever(case: Case) -> None:
        table = case.made.table
        # "Field names must contain at least one non-whitespace character": no Flink table has such a column.
        assume(all(column.name.strip() for column in table.columns))
        made = encoded_if_not_refused(case)
        if made is None:
            reject()
        messages = made.values.to_pylist()
        types = {column.name: roomy(column, case) for column in visible_columns(table)}
        found = flink.read(types, messages, **only(table.schema, table.name))
        wanted = [
            (kind, as_sent(table, as_on_the_wire(case, row)))
            for change in case.changes
            for kind, row in changelog(case, change)
        ]
        assert [(kind, as_read(table, row)) for kind, row in found] == wanted

    whatever()


def roomy(column: Column, case: Case) -> str:
    """Flink's type for a column, STRING where it may hold what no other type takes: zeros for a date, and empty texts
    that stand for columns which selectors leave out."""
    dated = column.type.name in ("date", "datetime", "timestamp")
    return "STRING" if dated or case.selected is not None else typed(column)


def as_on_the_wire(case: Case, row: Texts) -> Texts:
    """Before 5.4 the bytes of BINARY and VARBINARY are on the wire as they are, where these are UTF-8."""
    if case.release.canal_latin1_strings:
        return row
    columns = case.made.table.columns
    strings = {column.name for column in columns if is_binary(column.type) and family(column.type) == "string"}
    return {
        name: text.encode("latin-1").decode() if text and name in strings and LOST not in text else text
        for name, text in row.items()
    }


def changelog(case: Case, change: Change) -> list[tuple[str, Texts]]:
    """The rows of Flink's changelog: what `old` lacks is as in `data`."""
    wanted = expected(case, change)
    old, new = wanted.before or {}, wanted.after or {}
    if wanted.op == "UPDATE":
        return [("-U", {**new, **old}), ("+U", new)]
    return [("-D", old) if wanted.op == "DELETE" else ("+I", new)]


@pytest.mark.parametrize(("statement", "accepted"), [(3, True), (4, False), (5, False), (11, False), (14, False)])
def test_of_statements_of_its_own_table_flink_takes_create_alone(flink: Flink, statement: int, accepted: bool) -> None:
    """Which is TiCDC's CREATE TABLE; a stream for Flink has no others, or names other tables."""
    event = DdlEvent(1 << 40, "d", "t", "…", statement)
    _, message = CODECS["canal-json"].ddl(event, CodecOptions("canal-json"), V8_5)
    assert message is not None
    assert flink.read({"id": "INT"}, [message], **only("d", "other")) == []
    with nullcontext() if accepted else pytest.raises(Refused, match="Unknown"):
        assert flink.read({"id": "INT"}, [message]) == []


def test_flink_passes_watermarks_by_only_where_it_is_told_which_tables_it_reads(flink: Flink) -> None:
    """They have no table, and a type that canal-json has not."""
    options = CodecOptions("canal-json", enable_tidb_extension=True)
    entry = CODECS["canal-json"].watermark(1 << 40, options, V8_5)
    assert entry is not None and entry[1] is not None
    assert flink.read({"id": "INT"}, [entry[1]], **only("d", "t")) == []
    with pytest.raises(Refused, match="TIDB_WATERMARK"):
        flink.read({"id": "INT"}, [entry[1]])


# -- debezium-json -----------------------------------------------------------------------------------------------------

DEBEZIUM_URI = "kafka://127.0.0.1:9092/t?protocol=debezium&partition-num=1"
SQL = """CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), n BIGINT, x DOUBLE, tm BIGINT);
INSERT INTO t VALUES (1, 'a "b" \\\\ é', 9007199254740993, 0.5, 1), (2, NULL, NULL, 1e-7, NULL);
UPDATE t SET name = 'c' WHERE id = 1;
UPDATE t SET id = 3 WHERE id = 2;
DELETE FROM t WHERE id = 3;"""
COLUMNS = {"id": "INT", "name": "STRING", "n": "BIGINT", "x": "DOUBLE", "tm": "BIGINT"}


@pytest.mark.parametrize("release", ["v8.0.0", "v8.5.0", "v8.5.7"])
@pytest.mark.parametrize("more", ["", "&debezium-disable-schema=true"])
def test_the_changelog_is_what_the_sql_did(flink: Flink, release: str, more: str) -> None:
    """With `debezium-json.schema-include`, which tells Flink to look for `payload`: messages without schemas have it, too."""
    with TiCDC(release, sink_uri=DEBEZIUM_URI + more, databases=()) as ticdc:
        ticdc.execute(SQL)
        messages = [message.value for message in ticdc.messages() if message.value]
    rows = [
        (kind, row[0], row[1]) for kind, row in flink.read(COLUMNS, messages, "debezium-json", schema_include="true")
    ]
    assert rows == [
        ("+I", "1", 'a "b" \\ é'),
        ("+I", "2", None),
        ("-U", "1", 'a "b" \\ é'),
        ("+U", "1", "c"),
        ("-D", "2", None),
        ("+I", "3", None),
        ("-D", "3", None),
    ]
