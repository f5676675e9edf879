"""How doubles are spelt, which rows share a message, and what rows are refused, in all protocols."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support.codec_rows import LIMITED, parsed, rows

from simulator.errors import EncodeError
from simulator.releases import V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.wire_text import valid_utf8
from simulator.tidb.ddl.table_definitions import create_table

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


def test_doubles_are_spelt_as_go_spells_them() -> None:
    """An exponent below 1e-6 and from 1e21 in Open Protocol, never one in Canal-JSON."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, d DOUBLE)")
    given_ = rows(table, [(None, {"id": "1", "d": text}) for text in FLOATS])
    opened, canal = (
        CODECS[protocol].encode(given_, CodecOptions(protocol), V8_5).values.to_pylist()
        for protocol in ("open-protocol", "canal-json")
    )
    found = (
        (parsed(first)["u"]["d"]["v"], json.loads(second)["data"][0]["d"])
        for first, second in zip(opened, canal, strict=True)
    )
    assert dict(zip(FLOATS, found, strict=True)) == FLOATS


@pytest.mark.parametrize("protocol", LIMITED)
def test_a_row_above_max_message_bytes_is_ticdcs_error_with_table_and_key(protocol: str) -> None:
    table = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(999))")
    given_ = rows(table, [(None, {"id": "1", "v": ""}), (None, {"id": "77", "v": "x" * 900})])
    with pytest.raises(EncodeError, match=r"message is too large.*maxMessageBytes:600.*id=77 of shop\.t") as caught:
        CODECS[protocol].encode(given_, CodecOptions(protocol, max_message_bytes=600), V8_5)
    assert caught.value.code == "CDC:ErrMessageTooLarge"


@pytest.mark.parametrize("protocol", CODECS)
def test_no_rows_are_no_messages(protocol: str) -> None:
    made = CODECS[protocol].encode(rows(create_table("CREATE TABLE t (id INT)"), []), CodecOptions(protocol), V8_5)
    framed = CODECS[protocol].frame(made, np.empty(0, np.int64), CodecOptions(protocol), V8_5)
    assert (len(made.values), len(framed.values), framed.first_row.to_pylist()) == (0, 0, [0])


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([b"1\xffa", b"1\xffa\xffb"], "row image 1 has 3 cells: the table has 2"),
        ([b"1\xffa", b"1\xffc"], "not a member of the enum: 'c'; accepted: 'a', 'b'"),
    ],
)
def test_a_row_image_that_does_not_fit_its_table_is_refused(after: list[bytes], said: str) -> None:
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, e ENUM('a', 'b'))")
    given_ = replace(rows(table, [(None, {"id": "1", "e": "a"})] * 2), after=pa.array(after, pa.binary()))
    with pytest.raises(EncodeError, match=said):
        CODECS["canal-json"].encode(given_, CodecOptions("canal-json"), V8_5)


def test_what_is_no_utf8_is_shown_as_question_marks() -> None:
    """A sequence that the cell cuts off, a byte that begins none, a surrogate; text, NULL and slices stay."""
    cells = pa.array([b"a\xffb", "é中😀".encode(), b"\xc3", b"\xa9\xed\xa0\x80x", None, b""], pa.binary())

    shown = valid_utf8(cells)

    assert shown.to_pylist() == [b"a?b", "é中😀".encode(), b"?", b"????x", None, b""]
    assert valid_utf8(cells.slice(2)).to_pylist() == shown.to_pylist()[2:]
