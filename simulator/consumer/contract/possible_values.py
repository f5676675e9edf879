"""Which texts are values of a column: what no message can have, though its protocol has a text in that place."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.consumer.decode import LOST
from simulator.consumer.frame import UNKNOWN_CELL
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import ColumnType, family

DAY, CLOCK = "[0-9]{4}-(0[0-9]|1[0-2])-([0-2][0-9]|3[01])", r"[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
FORMS = {
    "integer": "-?[0-9]+",
    "bit": "[0-9]+",
    "year": "[0-9]{1,4}",
    "decimal": r"-?[0-9]+(\.[0-9]+)?",
    "date": DAY,
    "datetime": f"{DAY} [0-9]{{2}}:{CLOCK}",
    "time": f"-?[0-9]{{2,}}:{CLOCK}",
}
"""By families of types, patterns of TiDB's text."""

MOST_BYTES = 4
"""Those of a character."""


def check_values(images: pa.Array, table: Table) -> None:
    """Raise ValueError for row images of a table with a text that is no value of its column's type."""
    there = images.drop_null()
    if not len(there):
        return
    cells = row_image.split(there, len(visible_columns(table)))
    for place, column in enumerate(visible_columns(table)):
        right = possible(column.type, cells.cells(place))
        if right is not None and not pc.all(right).as_py():
            _refuse(cells.cells(place).filter(pc.invert(right)), column.name, column.type.name)


def possible(type: ColumnType, cells: pa.Array) -> pa.Array | None:
    """Return which cells are texts of the type's values, null for NULL; None for a type of which all texts are."""
    kind = family(type)
    if kind in FORMS:
        return pc.match_substring_regex(cells, f"^({FORMS[kind]})$")
    if kind == "string" and type.length > 0:
        return pc.less_equal(pc.binary_length(cells), MOST_BYTES * type.length)
    return None


def _refuse(cells: pa.Array, name: str, type: str) -> None:
    """Raise ValueError for the first text that messages tell as TiDB has it."""
    for cell in cells.to_pylist():
        text = cell.decode("utf-8", "surrogatepass")
        if cell != UNKNOWN_CELL and LOST not in text:
            raise ValueError(f"{name} is {text!r:.60}, which is no {type.upper()}")
