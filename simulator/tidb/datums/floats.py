"""Cast datums to FLOAT and DOUBLE (tidb pkg/types/datum.go, convertToFloat)."""

from __future__ import annotations

import json
import math

import numpy as np

from simulator.tidb.datums.kinds import Datum, float_value, number_of_members
from simulator.tidb.datums.numbers import SPACE, float_prefix, go_float, literal_number, time_number
from simulator.tidb.datums.problems import CastProblem, overflow, overflows, truncated_value
from simulator.tidb.model.types import ColumnType

LARGEST = 1.7976931348623157e308
LARGEST_FLOAT = 3.4028234663852886e38


def cast_float(type: ColumnType, datum: Datum) -> tuple[str, CastProblem | None]:
    """Cast a datum to FLOAT or DOUBLE. Storage has no -0 (pkg/util/codec/float.go)."""
    number, problem = _number(datum)
    number, wrong = _produced(number, type)
    return float_text(number + 0.0, type.name == "float"), problem or wrong


def _number(datum: Datum) -> tuple[float, CastProblem | None]:
    kind = datum.kind
    if kind in ("double", "float"):
        return float_value(datum), None
    if kind in ("int", "uint", "decimal"):
        return float(datum.body), None
    if kind in ("enum", "set"):
        return float(number_of_members(datum)), None
    if kind in ("literal", "bit"):
        number, problem = literal_number(datum.body)
        return float(number), problem
    if kind in ("time", "date", "datetime", "timestamp"):
        return float(time_number(datum)), None
    if kind == "json":
        return _of_json(datum.body.decode())
    return text_float(datum.body.decode("utf-8", "replace"))


def _of_json(shown: str) -> tuple[float, CastProblem | None]:
    """Convert JSON (pkg/types/convert.go, ConvertJSONToFloat)."""
    value = json.loads(shown)
    if value is None or isinstance(value, (list, dict)):
        return 0.0, truncated_value("FLOAT", shown)
    return text_float(value) if isinstance(value, str) else (float(value), None)


def text_float(text: str) -> tuple[float, CastProblem | None]:
    """Convert the number at the start of a text, limited to the range (StrToFloat)."""
    text = text.strip(SPACE)
    prefix, problem = float_prefix(text)
    number = float(prefix)
    if math.isinf(number):
        return math.copysign(LARGEST, number), truncated_value("DOUBLE", text)
    return number, problem


def _produced(number: float, type: ColumnType) -> tuple[float, CastProblem | None]:
    """Limit a number to the type's range (ProduceFloatWithSpecifiedTp)."""
    problem = None
    if math.isinf(number):
        return number, overflows("+Inf" if number > 0 else "-Inf", type)
    if type.length >= 0 and type.decimal >= 0:
        number, problem = _fixed(number, type)
    if type.unsigned and number < 0:
        return 0.0, overflows(go_float(number), type)
    if problem is None and type.name == "float" and abs(number) > LARGEST_FLOAT:
        return math.copysign(LARGEST_FLOAT, number), overflows(go_float(number), type)
    return number, problem


def _fixed(number: float, type: ColumnType) -> tuple[float, CastProblem | None]:
    """Round for FLOAT(M,D), half to even (pkg/types/helper.go, TruncateFloat)."""
    shift = float(f"1e{type.decimal}")
    moved = number * shift
    if not math.isinf(moved):
        number = float(np.rint(moved)) / shift
    most = float(f"1e{type.length - type.decimal}") - float(f"1e-{type.decimal}")
    if abs(number) > most:
        return math.copysign(most, number), overflow("DOUBLE", "")
    return number, None


def float_text(number: float, single: bool) -> str:
    """Print a float as a MySQL client: with the fewest digits, and an exponent below 1e-15 and from 1e15 on."""
    value = np.float32(number) if single else np.float64(number)
    if not value:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if 1e-15 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="-")
    mantissa, exponent = np.format_float_scientific(value, unique=True, trim="-").split("e")
    return f"{mantissa}e{int(exponent)}"
