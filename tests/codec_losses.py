"""What TiCDC's own encoders lose of a value, by release: the only ways in which a message may differ from its row."""

from __future__ import annotations

import numpy as np

from simulator.releases import Release
from simulator.schema.table import Column
from simulator.schema.types import family, is_binary

LOST = "\ufffd"


def sent(text: str | None, column: Column, release: Release, protocol: str) -> str | None:
    """The TiDB text that a reader gets for a column's: bytes of binary columns as Latin-1, of others that are not
    UTF-8 as lone surrogates."""
    if text is None:
        return None
    kind = family(column.type)
    if column.type.name == "float":
        return np.format_float_scientific(np.float32(text), unique=True)
    if protocol == "open-protocol":
        if kind == "time" and release.name in ("v8.5.4", "v8.5.5") and release.architecture == "new":
            return text.split(".")[0]
        if kind == "string" and not is_binary(column.type) and release.open_escapes_html:
            return _readable(text)
        return text
    if text == "null" and release.name == "v8.5.4" and release.architecture == "new":
        return None
    if is_binary(column.type):
        return text if kind == "text" or release.tidb_extension else _readable_bytes(text)
    return _readable(text)


def _readable(text: str) -> str:
    """U+FFFD for each byte that is not UTF-8."""
    return "".join(LOST if "\udc80" <= one <= "\udcff" else one for one in text)


def _readable_bytes(text: str) -> str:
    """Bytes as text, for which bytes stand again where none was lost (canal-json before 5.4)."""
    said = _readable(text.encode("latin-1").decode("utf-8", "surrogateescape"))
    return said if LOST in said else text
