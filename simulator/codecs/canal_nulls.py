"""What early releases of the new architecture take for NULL in Canal-JSON: the text `null`, and zeros.

One law: a form stays as it is in every other release.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs.members import Form
from simulator.releases import Release
from simulator.schema import types
from simulator.schema.table import ColumnType

_ZEROS = {
    **dict.fromkeys(("string", "text"), "^$"),
    **dict.fromkeys(("enum", "set"), "^0$"),
    **dict.fromkeys(("date", "datetime"), r"^0000-00-00( 00:00:00(\.0+)?)?$"),
    "time": "^-?0+:00:00$",
    "decimal": r"^-?0+(\.0+)?$",
    "json": r"^-?0(\.0+)?$",
}
"""Texts that 9.0.0-beta.1 takes for NULL, by family of types (ticdc v9.0.0-beta.1: pkg/sink/codec/canal/helper.go)."""


def nulled(form: Form, type: ColumnType, release: Release) -> Form:
    """The form with nulls where the release has them."""
    family = types.family(type)
    if release.canal_whole_seconds and family == "time":
        form = _without_fraction(form)
    if release.canal_text_null and family in ("string", "text", "json"):
        form = _without("^null$", form)
    if release.canal_zero_null and family in _ZEROS:
        form = _without(_ZEROS[family], form)
    return form


def _without(pattern: str, form: Form) -> Form:
    def nulling(cells: pa.Array, type: ColumnType) -> pa.Array:
        made = form(cells, type)
        found = pc.match_substring_regex(made, pattern)
        return pc.if_else(found, pa.scalar(None, pa.binary()), made) if pc.any(found).as_py() else made

    return nulling


def _without_fraction(form: Form) -> Form:
    return lambda cells, type: pc.replace_substring_regex(form(cells, type), r"\..*$", "")
