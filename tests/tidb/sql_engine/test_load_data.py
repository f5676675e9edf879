"""The rows and fields of files of LOAD DATA, whatever separates them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulator.tidb.sql_engine.changes.delimited_text import rows_of
from simulator.tidb.syntax.load_data import DelimitedText

CELLS = st.none() | st.text("aN\\\n\t,;\"' \0é").map(str.encode)
FORMS = st.builds(
    DelimitedText,
    separator=st.sampled_from(["\t", ",", ";;"]),
    quote=st.sampled_from(["", '"', "'"]),
    starting=st.sampled_from(["", ">>"]),
    terminator=st.sampled_from(["\n", "\r\n", "|"]),
)


def written(cell: bytes | None, form: DelimitedText) -> bytes:
    """The field as SELECT … INTO OUTFILE writes it."""
    if cell is None:
        return b"\\N"
    special = {*form.separator, *form.terminator, *form.quote, "\\"}
    text = b"".join(b"\\0" if byte == 0 else (b"\\" if chr(byte) in special else b"") + bytes([byte]) for byte in cell)
    return form.quote.encode() + text + form.quote.encode()


@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), max_size=4), FORMS, st.booleans())
def test_a_file_that_was_written_is_read(rows: list[list[bytes | None]], form: DelimitedText, ends: bool) -> None:
    lines = [form.starting.encode() + form.separator.encode().join(written(cell, form) for cell in row) for row in rows]
    ends = ends or lines[-1:] == [b""]  # an empty line is a row if a terminator ends it
    data = form.terminator.encode().join(lines) + (form.terminator.encode() if ends and lines else b"")
    assert [*rows_of(data, form)] == rows


def test_quotes_inside_of_a_field_and_its_words() -> None:
    form = DelimitedText(separator=",", quote='"', null="none", terminator="\n")
    data = b'"a""b",a"b,"a"b"\nNULL,"NULL",none\n"none",\\N,"\\N"\n\n"open,1'
    assert [*rows_of(data, form)] == [
        [b'a"b', b'a"b', b'a"b'],
        [None, b"NULL", None],
        [b"none", None, b"N"],
        [b""],
        [b'"open', b"1"],
    ]


def test_lines_without_the_beginning_do_not_count() -> None:
    form = DelimitedText(separator=",", starting="xx")
    assert [*rows_of(b"a,b\nignored xx1,2\nxx3\nxx", form)] == [[b"1", b"2"], [b"3"], [b""]]
