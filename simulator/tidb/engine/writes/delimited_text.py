"""The rows and fields of a file of LOAD DATA (tidb pkg/lightning/mydump/csv_parser.go)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator.tidb.syntax.session import DelimitedText

ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}

CODECS = {"gbk": "gbk", "gb18030": "gb18030", "latin1": "cp1252"}
"""Python's codecs for character sets that are decoded, field by field (pkg/lightning/mydump/charset_convertor.go)."""

Row = list[bytes | None]


def rows_of(data: bytes, form: DelimitedText, charset: str = "") -> Iterator[Row]:
    """Yield the fields of each row in UTF-8; None is NULL. `charset` is that of the file if it is another one."""
    separator, terminator = form.separator.encode(), form.terminator.encode()
    codec = CODECS.get(charset)
    escapes = form.escape and form.escape.encode() in data
    if form.quote or form.starting or form.null is not None or escapes or codec:
        yield from _parsed_rows(data, form, codec)
        return
    lines = data.split(terminator)
    if not lines[-1]:
        lines.pop()
    for line in lines:
        yield [*line.split(separator)]


def _parsed_rows(data: bytes, form: DelimitedText, codec: str | None) -> Iterator[Row]:
    field = _field_pattern(form)
    starting, terminator = form.starting.encode(), form.terminator.encode()
    place = _row_start(data, 0, starting, terminator)
    row: Row = []
    value = FieldValues(form)
    while place >= 0:
        match = field.match(data, place)
        assert match is not None, "it matches everything"
        quoted, plain, end = match.groups()
        text = plain if quoted is None else quoted
        if codec is not None:
            text = text.decode(codec, "replace").encode()
        row.append(value(text, quoted is not None))
        place = match.end()
        if end != form.separator.encode():
            yield row
            row, place = [], _row_start(data, place, starting, terminator)


def _row_start(data: bytes, place: int, starting: bytes, terminator: bytes) -> int:
    """Return where the next row begins, behind LINES STARTING BY; -1 if there is none."""
    if not starting:
        return place if place < len(data) else -1
    while (found := data.find(starting, place)) >= 0:
        end = data.find(terminator, place)
        if end < 0 or found < end:
            return found + len(starting)
        place = end + len(terminator)
    return -1


def _field_pattern(form: DelimitedText) -> re.Pattern[bytes]:
    """Return the pattern of a field in quotes or a plain one, and what ends it."""
    separator, terminator, quote, escape = (
        re.escape(part.encode()) for part in (form.separator, form.terminator, form.quote, form.escape)
    )
    ends = rb"(?:" + separator + rb"|" + terminator + rb"|\Z)"
    escaped = escape + rb".|" if escape else b""
    plain = rb"((?:" + escaped + rb"(?!" + ends + rb").)*)"
    quoted = rb"(?!)()"
    if quote:
        inner = rb"(?:" + escaped + quote * 2 + rb"|(?!" + quote + rb").|" + quote + rb"(?!" + ends + rb"))*+"
        quoted = quote + rb"(" + inner + rb")" + quote + rb"(?=" + ends + rb")"
    return re.compile(rb"(?:" + quoted + rb"|" + plain + rb")(" + separator + rb"|" + terminator + rb"|\Z)", re.DOTALL)


class FieldValues:
    """Returns the values of fields: NULL, or the text without its escapes."""

    def __init__(self, form: DelimitedText) -> None:
        quote, escape = form.quote.encode(), form.escape.encode()
        self._defined = None if form.null is None else form.null.encode()
        self._quoted_null = form.quoted_null
        self._nulls = {self._defined, b"NULL" if quote else None, escape + b"N" if escape else None} - {None}
        patterns = [re.escape(escape) + rb"(.)"] if escape else []
        patterns += [re.escape(quote * 2)] if quote else []
        self._special = re.compile(rb"|".join(patterns), re.DOTALL) if patterns else None
        self._has_escape, self._quote = bool(escape), quote

    def __call__(self, text: bytes, quoted: bool) -> bytes | None:
        if text in self._nulls and (not quoted or self._quoted_null and text == self._defined):
            return None
        if self._special is None or not quoted and not self._has_escape:
            return text
        return self._special.sub(lambda match: self._unescaped(match, quoted), text)

    def _unescaped(self, match: re.Match[bytes], quoted: bool) -> bytes:
        letter = match[1] if self._has_escape else None
        if letter is None:
            return self._quote if quoted else match[0]
        return ESCAPED.get(letter, letter)
