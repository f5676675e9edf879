"""What TiCDC's own encoders lose of a value, by release: the only ways in which a message may differ from its row."""

from __future__ import annotations

import re

import numpy as np

from simulator.releases import Release
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family, is_binary
from support.codec_debezium import left

LOST = "\ufffd"


def sent(text: str | None, column: Column, release: Release, protocol: str) -> str | None:
    """The TiDB text that a reader gets for a column's: bytes of binary columns as Latin-1, of others that are not
    UTF-8 as lone surrogates."""
    if text is None:
        return None
    if protocol.startswith("debezium"):
        return left(text, column, release, protocol)
    if column.type.name == "float":
        return number(text, release)
    if protocol == "simple":
        return text if is_binary(column.type) else readable(text)
    return (open_text if protocol == "open-protocol" else canal_text)(text, column, release)


def number(text: str, release: Release) -> str:
    """A FLOAT's digits: the shortest, or those that it has as a double."""
    single = np.float32(text)
    return repr(float(single)) if release.float_widened else np.format_float_scientific(single, unique=True)


def open_text(text: str, column: Column, release: Release) -> str | None:
    """By Open Protocol: BLOBs and TEXTs lose nothing."""
    kind = family(column.type)
    if release.open_zero_is_null and is_zero(text, column):
        return None
    if kind == "time" and not release.open_time_fraction:
        return text.split(".")[0]
    if kind == "string" and is_binary(column.type):
        return text
    plain = kind == "string" and release.open_escapes_html and not release.open_strings_base64
    return readable(text) if plain else text


def canal_text(text: str, column: Column, release: Release) -> str | None:
    """By Canal-JSON: Latin-1 loses nothing."""
    kind = family(column.type)
    if release.canal_text_null and kind in ("string", "text", "json") and text == "null":
        return None
    if release.canal_zero_null and is_zero(text, column):
        return None
    if kind == "time" and release.canal_whole_seconds:
        return text.split(".")[0]
    if is_binary(column.type):
        return text if kind == "text" or release.canal_latin1_strings else readable_bytes(text)
    return readable(text)


ZEROS = {
    "string": "",
    "text": "",
    "set": "",
    "decimal": r"-?0+(\.0+)?",
    "date": "[0-]+",
    "datetime": "[0:. -]+",
    "time": r"-?00:00:00(\..*)?",
    "json": r"-?0(\.0+)?",
}


def is_zero(text: str, column: Column) -> bool:
    """Whether early releases of the new architecture take it for nothing; TIME is looked at without its fraction."""
    kind = family(column.type)
    if kind == "enum":
        return text == "" and "" not in column.type.elements
    return kind in ZEROS and re.fullmatch(ZEROS[kind], text) is not None


def readable(text: str) -> str:
    """U+FFFD for each byte that is not UTF-8."""
    return "".join(LOST if "\udc80" <= char <= "\udcff" else char for char in text)


def readable_bytes(text: str) -> str:
    """Bytes as text, for which bytes stand again where none was lost."""
    said = readable(text.encode("latin-1").decode("utf-8", "surrogateescape"))
    return said if LOST in said else text
