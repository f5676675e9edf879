"""Encoded rows hold the values that went in, whatever these are and however the rows are cut into batches."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codec_rows import LIMITED, Change, Values, open_value, parsed, rows, unframed

from simulator.errors import EncodeError
from simulator.releases import V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, EncodedRows, Messages
from simulator.ticdc.codecs.binary import valid_utf8
from simulator.tidb.ddl.definitions.from_sql import create_table

TABLE = create_table("""CREATE TABLE `s"<p`.`t\\é` (id BIGINT PRIMARY KEY, `né"w` VARCHAR(99), Blob_ BLOB,
    bin VARBINARY(99), long_text TEXT, n INT UNSIGNED, d DOUBLE, e ENUM('a', 'b,"c', 'é'), flags SET('x', 'y', 'z'),
    doc JSON)""")
BINARY = frozenset(("Blob_", "bin"))
KINDS = {"Blob_": "base64", "bin": "bytes", "long_text": "base64"}
few = settings(max_examples=30, deadline=None)
ENUM = {"a": "1", 'b,"c': "2", "é": "3", "": "0"}

texts = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", "\\", '"', "\u2028\u2029", "<&>", "\b\f\x00\x1f\x7f", "😀中", "\ufffd", "null"]
)
doubles = st.floats(allow_nan=False, allow_infinity=False)
images = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1).map(str),
        'né"w': st.none() | texts,
        "Blob_": st.none() | st.binary(max_size=9),
        "bin": st.none() | st.binary(max_size=12) | texts.map(str.encode),
        "long_text": st.none() | texts,
        "n": st.none() | st.integers(0, 2**32 - 1).map(str),
        "d": st.none() | doubles.map(repr),
        "e": st.none() | st.sampled_from(list(ENUM)),
        "flags": st.none() | st.sets(st.sampled_from("xyz")).map(lambda names: ",".join(sorted(names))),
        "doc": st.none()
        | st.dictionaries(texts, texts, max_size=2).map(lambda document: json.dumps(document, ensure_ascii=False)),
    }
)
changes = st.tuples(st.none() | images, st.none() | images).filter(any)


def encoded(protocol: str, changed: list[Change], **options: object) -> EncodedRows:
    """Rows of TABLE through one codec."""
    chosen = replace(CodecOptions(protocol, build_ts=0), **options)  # type: ignore[arg-type]
    return CODECS[protocol].encode(rows(TABLE, changed, BINARY), chosen, V8_5)


def on_wire(values: Values) -> dict[str, str | bytes | None]:
    """What the wire shows of the values, binary as bytes: members by number."""
    flags = values["flags"]
    bits = None if flags is None else str(sum(1 << "xyz".index(str(name)) for name in flags if name != ","))
    return {**values, "e": values["e"] if values["e"] is None else ENUM[str(values["e"])], "flags": bits}


def same(name: str, made: str | bytes | None, wanted: str | bytes | None) -> bool:
    """Equality, of floats as numbers, and of base64 texts as bytes."""
    if name == "d" and made is not None and wanted is not None:
        return float(made) == float(wanted)
    return made == (wanted.encode() if isinstance(made, bytes) and isinstance(wanted, str) else wanted)


def assert_same(made: dict[str, str | bytes | None], values: Values) -> None:
    """Every column is there with its value."""
    wanted = on_wire(values)
    assert made.keys() == wanted.keys()
    assert [name for name in wanted if not same(name, made[name], wanted[name])] == []


@few
@given(st.lists(changes, min_size=1, max_size=6))
def test_open_protocol_gives_back_every_value(changed: list[Change]) -> None:
    """An independent reading of u, p and d finds the images."""
    for value, (before, after) in zip(encoded("open-protocol", changed).values.to_pylist(), changed, strict=True):
        members = parsed(value)
        named = {"u": after, "p": before if after else None, "d": None if after else before}
        assert list(members) == [name for name in "upd" if named[name]]
        for name, columns in members.items():
            assert list(columns) == sorted(columns, key=str.encode)
            image = named[name]
            assert image is not None
            made = {name: open_value(columns[name], KINDS.get(name, "text")) for name in columns}
            assert_same(made, image)


@few
@given(st.lists(changes, min_size=1, max_size=6))
def test_canal_json_gives_back_every_value(changed: list[Change]) -> None:
    """An independent reading of data and old finds the images; every value is a string."""
    for value, (before, after) in zip(encoded("canal-json", changed).values.to_pylist(), changed, strict=True):
        message = json.loads(value)
        assert message["type"] == ("DELETE" if after is None else "INSERT" if before is None else "UPDATE")
        named = {"data": [after or before], "old": [before] if before and after else None}
        for name, wanted in named.items():
            if wanted is None or wanted[0] is None:
                assert message[name] is None
                continue
            (made,) = message[name]
            bytes_ = {name: made[name].encode("latin-1") for name in BINARY if made[name] is not None}
            assert_same(made | bytes_, wanted[0])


@few
@given(st.lists(changes, min_size=1, max_size=6))
def test_unchanged_columns_can_stay_out(changed: list[Change]) -> None:
    """With only-output-updated-columns `old` and `p` hold exactly what the UPDATE changed."""
    canal = encoded("canal-json", changed, only_output_updated_columns=True).values.to_pylist()
    opened = encoded("open-protocol", changed, only_output_updated_columns=True).values.to_pylist()
    for canal_row, open_row, (before, after) in zip(canal, opened, changed, strict=True):
        if before is None or after is None:
            continue
        differing = {name for name in before if not same(name, before[name], after[name])}
        assert set(json.loads(canal_row)["old"][0]) == differing
        assert set(json.loads(open_row).get("p", {})) == differing


def test_invalid_utf8_of_a_text_column_becomes_the_replacement_character() -> None:
    """Go's JSON writes one U+FFFD escape a byte; base64 keeps the bytes."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v VARCHAR(9), x TEXT)")
    bad = b"caf\xe9\xfe\xff \xed\xb2\x80 \xe2\x80"
    given_ = rows(table, [(None, {"id": "1", "v": bad, "x": bad})])
    wanted = b"caf" + rb"\ufffd" * 3 + b" " + rb"\ufffd" * 3 + b" " + rb"\ufffd" * 2
    opened = CODECS["open-protocol"].encode(given_, CodecOptions("open-protocol"), V8_5).values[0].as_py()
    canal = CODECS["canal-json"].encode(given_, CodecOptions("canal-json"), V8_5).values[0].as_py()
    assert b'"v":"' + wanted + b'"' in opened
    assert b'"v":"' + wanted + b'"' in canal and b'"x":"' + wanted + b'"' in canal
    assert open_value(parsed(opened)["u"]["x"], "base64") == bad


FLOATS = {
    "1e20": ("100000000000000000000", "100000000000000000000"),
    "1e21": ("1e+21", "1000000000000000000000"),
    "1e-6": ("0.000001", "0.000001"),
    "9.99e-7": ("9.99e-7", "0.000000999"),
    "1e-7": ("1e-7", "0.0000001"),
    "1e-10": ("1e-10", "0.0000000001"),
    "123456789012345680": ("123456789012345680", "123456789012345680"),
    "12345678901.5": ("12345678901.5", "12345678901.5"),
    "1.0": ("1", "1"),
    "-0": ("-0", "-0"),
    "100": ("100", "100"),
    "5e-324": ("5e-324", "0." + "0" * 323 + "5"),
    "1.5e300": ("1.5e+300", "15" + "0" * 299),
}


@pytest.mark.parametrize("text", FLOATS)
def test_doubles_are_spelt_as_go_spells_them(text: str) -> None:
    """An exponent below 1e-6 and from 1e21 in Open Protocol, never one in Canal-JSON."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, d DOUBLE)")
    given_ = rows(table, [(None, {"id": "1", "d": text})])
    opened = CODECS["open-protocol"].encode(given_, CodecOptions("open-protocol"), V8_5).values[0].as_py()
    canal = CODECS["canal-json"].encode(given_, CodecOptions("canal-json"), V8_5).values[0].as_py()
    assert (parsed(opened)["u"]["d"]["v"], json.loads(canal)["data"][0]["d"]) == FLOATS[text]


@pytest.mark.parametrize("protocol", LIMITED)
def test_a_row_above_max_message_bytes_is_ticdcs_error_with_table_and_key(protocol: str) -> None:
    """The limit is the message as TiCDC counts it; the error names what to look for."""
    table = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(999))")
    given_ = rows(table, [(None, {"id": "1", "v": ""}), (None, {"id": "77", "v": "x" * 900})])
    with pytest.raises(EncodeError, match=r"message is too large.*maxMessageBytes:600.*id=77 of shop\.t") as caught:
        CODECS[protocol].encode(given_, CodecOptions(protocol, max_message_bytes=600), V8_5)
    assert caught.value.code == "CDC:ErrMessageTooLarge"


def framed_one_by_one(keys: list[bytes], values: list[bytes], group: list[int], options: CodecOptions) -> list[int]:
    """First row of each message, by TiCDC's own loop."""
    starts: list[int] = []
    length, count = 0, 0
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        size = len(key) + len(value) + 16
        full = count >= options.max_batch_size or length + size > options.max_message_bytes
        if row == 0 or group[row] != group[row - 1] or full:
            starts, length, count = [*starts, row], 8 + 36, 0
        length, count = length + size, count + 1
    return starts


@few
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 1)), min_size=1, max_size=60),
    st.integers(1, 9),
    st.integers(100, 600),
)
def test_messages_hold_as_many_rows_as_ticdcs(sizes: list[tuple[int, int]], batch: int, limit: int) -> None:
    """Boundaries are those of TiCDC's loop, and the bytes unpack to the entries."""
    keys, values = [b"k" * 3] * len(sizes), [b"v" * size for size, _ in sizes]
    made = EncodedRows(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
    group = [flag for _, flag in sizes]
    options = CodecOptions("open-protocol", max_batch_size=batch, max_message_bytes=limit)
    framed: Messages = CODECS["open-protocol"].frame(made, np.array(group), options, V8_5)
    assert framed.first_row.to_pylist() == [*framed_one_by_one(keys, values, group, options), len(sizes)]
    assert framed.keys is not None
    assert all(key[:8] == b"\0\0\0\0\0\0\0\1" for key in framed.keys.to_pylist())
    assert [part for key in framed.keys.to_pylist() for part in unframed(key[8:])] == keys
    assert [part for value in framed.values.to_pylist() for part in unframed(value)] == values


@pytest.mark.parametrize("protocol", CODECS)
def test_no_rows_are_no_messages(protocol: str) -> None:
    """An empty batch is legal."""
    made = CODECS[protocol].encode(rows(TABLE, []), CodecOptions(protocol), V8_5)
    framed = CODECS[protocol].frame(made, np.empty(0, np.int64), CodecOptions(protocol), V8_5)
    assert (len(made.values), len(framed.values), framed.first_row.to_pylist()) == (0, 0, [0])


def test_an_image_with_a_wrong_number_of_cells_is_refused() -> None:
    """The row is named."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v INT)")
    given_ = replace(rows(table, [(None, {"id": "1", "v": "2"})] * 2), after=pa.array([b"1\xff2", b"1\xff2\xff3"]))
    with pytest.raises(EncodeError, match="row image 1 has 3 cells: the table has 2"):
        CODECS["canal-json"].encode(given_, CodecOptions("canal-json"), V8_5)


def test_an_unknown_enum_member_is_refused() -> None:
    """The value and the members are named."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, e ENUM('a', 'b'))")
    with pytest.raises(EncodeError, match="not a member of the enum: 'c'; accepted: 'a', 'b'"):
        CODECS["canal-json"].encode(rows(table, [(None, {"id": "1", "e": "c"})]), CodecOptions("canal-json"), V8_5)


def test_statements_keep_their_text() -> None:
    """Names and query come back, whatever is in them."""
    event = DdlEvent(1 << 30, 's"', "t<", "ALTER TABLE `t<` COMMENT = 'a\u2028\b\"'", 17)
    key, value = CODECS["open-protocol"].ddl(event, CodecOptions("open-protocol"), V8_5)
    assert key is not None
    assert json.loads(key) == {"ts": 1 << 30, "scm": 's"', "tbl": "t<", "t": 2}
    assert json.loads(value) == {"q": event.query, "t": 17}
    canal = json.loads(CODECS["canal-json"].ddl(event, CodecOptions("canal-json"), V8_5)[1])
    assert (canal["sql"], canal["type"], canal["database"]) == (event.query, "ALTER", 's"')


def test_large_batches_of_mixed_operations_keep_their_order() -> None:
    """Rows come out in the order they went in."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY)")
    random.seed(7)
    kinds = random.choices(((0, 1), (1, 0), (1, 1)), k=3000)
    given_ = rows(
        table,
        [
            ({"id": str(row)} if old else None, {"id": str(row)} if new else None)
            for row, (old, new) in enumerate(kinds)
        ],
    )
    values = CODECS["canal-json"].encode(given_, CodecOptions("canal-json"), V8_5).values.to_pylist()
    assert [int(json.loads(value)["data"][0]["id"]) for value in values] == list(range(3000))


def test_what_is_no_utf8_is_shown_as_question_marks() -> None:
    """A sequence that the cell cuts off, a byte that begins none, a surrogate; text, NULL and slices stay."""
    cells = pa.array([b"a\xffb", "é中😀".encode(), b"\xc3", b"\xa9\xed\xa0\x80x", None, b""], pa.binary())

    shown = valid_utf8(cells)

    assert shown.to_pylist() == [b"a?b", "é中😀".encode(), b"?", b"????x", None, b""]
    assert valid_utf8(cells.slice(2)).to_pylist() == shown.to_pylist()[2:]
