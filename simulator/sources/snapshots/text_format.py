"""How the text files of a snapshot are written, from the options of a command or the keys of a step."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.errors import UserError
from simulator.settings import CHARSETS
from simulator.sources.snapshots.charsets import UTF8
from simulator.sources.snapshots.csv_text import CsvDialect

_ESCAPE = re.compile(r"\\(?:t|\\|x([0-9A-Fa-f]{2}))")
"""What a shell and TOML do not easily pass on."""


@dataclass(frozen=True)
class TextFormat:
    csv: CsvDialect = CsvDialect()
    charset: str = UTF8


def text_format(
    charset: str | None = None, separator: str | None = None, delimiter: str | None = None, null: str | None = None
) -> TextFormat:
    """Return the format; None is Dumpling's default. Raises UserError."""
    if charset is not None and charset not in CHARSETS:
        raise UserError(f"charset {charset!r} is not read: accepted are {', '.join(CHARSETS)}")
    default = CsvDialect()
    between = default.separator if separator is None else _unescaped(separator)
    quote = default.quote if delimiter is None else _unescaped(delimiter)
    absent = default.null if null is None else null
    if not between or not _is_unicode(between) or set(between) & set("\r\n\\"):
        raise UserError(
            f"csv-separator {separator!r}: accepted is one or more characters of UTF-8, no line ends and no backslash"
        )
    if len(quote) > 1 or quote and (not quote.isascii() or quote.isalnum() or quote in "\r\n\\"):
        raise UserError(
            f"csv-delimiter {delimiter!r}: accepted is one ASCII character that is no letter or digit, or none"
        )
    if quote and quote in between:
        raise UserError(
            f"csv-delimiter {quote!r}{_if_default(delimiter)} is part of csv-separator {between!r}"
            f"{_if_default(separator)}: give another csv-delimiter or csv-separator"
        )
    if not _is_unicode(absent) or set(absent) & set("\r\n"):
        raise UserError(f"csv-null-value {null!r}: accepted are characters of UTF-8, and no line ends")
    if between in absent:
        raise UserError(
            f"csv-separator {between!r}{_if_default(separator)} is part of csv-null-value {absent!r}"
            f"{_if_default(null)}: give another csv-separator or csv-null-value"
        )
    return TextFormat(CsvDialect(between, quote, absent), charset or UTF8)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _if_default(given: str | None) -> str:
    return " (the default)" if given is None else ""


def _unescaped(text: str) -> str:
    r"""Return the text with `\t`, `\x01` and the like as characters."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else {"\\t": "\t"}.get(match[0], "\\"), text)
