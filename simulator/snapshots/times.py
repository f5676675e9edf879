"""Dates and times as TiDB prints them, with exactly their fractional digits.

One law: each function gives TiDB text, or null for what strict mode would reject; zero dates are values like others.
Written as SQL: the spellings that hardly ever come make long expressions, and Spark takes a text at one go.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType
from simulator.snapshots.binding import let_sql

_PARTS = (r"^\s*(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,2})"
          r"(?:[T ]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?\s*$")
_COMPACT = r"^(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})(?:\.(\d*))?)?$"
_ZERO = r"^(0000-\d\d|\d{4}-00|\d{4}-(0[1-9]|1[0-2])-00)"
_CLOCK = r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$"
_RANGE = "between '1969-12-31 10:00:00' and '2038-01-19 17:14:08'"
"""TIMESTAMP's, with room for any time zone the dump was taken in."""

_DURATION = r"^\s*(-?)(?:(\d{1,2}) )?(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*$"
_DURATION_NUMBER = r"^(-?)(\d{1,3}?)(\d{2})(\d{2})(?:\.(\d*))?$"


def date(text: str) -> Column:
    """DATE from SQL that is text."""
    exact = rf"{text} rlike r'^\d{{4}}-\d\d-\d\d$' and {_is_date(text)}"
    day = f"substring({_spelled(text)}, 1, 10)"
    loose = let_sql(day, lambda day: f"if({_is_date(day)} or {_is_zero(day)}, {day}, null)")
    return F.expr(f"if({exact}, {text}, {loose})")


def _is_date(text: str) -> str:
    return f"try_cast({text} as date) is not null"


def _is_zero(text: str) -> str:
    """Whether a date has a zero month or day, or is all zeros, and is otherwise one."""
    month, day = f"substring({text}, 6, 2)", f"substring({text}, 9, 2)"
    return f"({text} rlike r'{_ZERO}' and {month} between '00' and '12' and {day} between '00' and '31')"


def datetime(type: ColumnType, text: str) -> Column:
    """DATETIME or TIMESTAMP from SQL that is text."""
    digits = max(type.decimal, 0)
    shape = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d" + (rf"\.\d{{{digits}}}$" if digits else "$")
    exact = f"{text} rlike r'{shape}' and try_cast({text} as timestamp_ntz) is not null"
    loose = let_sql(_spelled(text), lambda spelled: _loose(digits, spelled))
    known = f"if({exact}, {text}, {loose})"
    if type.name == "datetime":
        return F.expr(known)
    return F.expr(let_sql(known, lambda known: f"if({known} {_RANGE} or {known} like '0000-00-00%', {known}, null)"))


def moment(type: ColumnType, value: str) -> Column:
    """DATETIME or TIMESTAMP from SQL that is a timestamp; the session's zone is UTC."""
    text = _formatted(max(type.decimal, 0), f"cast({value} as timestamp)")
    return F.expr(text if type.name == "datetime" else f"if(cast({value} as timestamp) {_RANGE}, {text}, null)")


def _formatted(digits: int, value: str) -> str:
    """A timestamp's text, rounded half up to that many fractional digits; null outside the years 0 to 9999.

    Put together from the spellings of two digits: half of what Spark's own cast to a string costs.
    """
    unit = 10 ** (6 - digits)
    micros = f"(unix_micros({value}) + {unit // 2})"
    moment = f"timestamp_micros({micros})"
    second = f"(pmod({micros}, 86400000000L) div 1000000)"
    parts = [
        _two(f"year({moment}) div 100"), _two(f"year({moment}) % 100"), "'-'", _two(f"month({moment})"), "'-'",
        _two(f"day({moment})"), "' '", _two(f"{second} div 3600"), "':'", _two(f"{second} div 60 % 60"), "':'",
        _two(f"{second} % 60")]
    if digits:
        parts += ["'.'", f"lpad(cast(pmod({micros}, 1000000) div {unit} as string), {digits}, '0')"]
    return f"concat({', '.join(parts)})"


_HUNDRED = " ".join(f"{number:02}" for number in range(100))


def _two(number: str) -> str:
    """0 to 99 as two digits, null for other numbers."""
    return f"get(split('{_HUNDRED}', ' '), cast({number} as int))"


def _loose(digits: int, spelled: str) -> str:
    """A moment in another spelling, or with more or fewer fractional digits, or a zero date."""
    pointed = f"if(length({spelled}) = 19, concat({spelled}, '.'), {spelled})"
    zero = f"substring(rpad({pointed}, 26, '0'), 1, {20 + digits if digits else 19})"
    is_zero = f"{_is_zero(f'substring({spelled}, 1, 10)')} and substring({spelled}, 12, 8) rlike r'{_CLOCK}'"
    value = let_sql(f"try_cast({spelled} as timestamp)", lambda value: _formatted(digits, value))
    return f"if({is_zero}, {zero}, {value})"


def _spelled(text: str) -> str:
    """`YYYY-MM-DD HH:MM:SS[.digits]` of any spelling MySQL takes, null for others; not checked further."""
    return f"case when {text} rlike r'{_PARTS}' then {_joined(text, _PARTS)} " \
           f"when {text} rlike r'{_COMPACT}' then {_joined(text, _COMPACT)} end"


def _joined(text: str, pattern: str) -> str:
    year, month, day, hour, minute, second, digits = (
        f"regexp_extract({text}, r'{pattern}', {group})" for group in range(1, 8))
    short = f"concat(if(lpad({year}, 2, '0') < '70', '20', '19'), lpad({year}, 2, '0'))"
    parts = [f"if(length({year}) <= 2, {short}, lpad({year}, 4, '0'))", "'-'", _padded(month), "'-'", _padded(day),
             "' '", _padded(hour), "':'", _padded(minute), "':'", _padded(second),
             f"if({digits} = '', '', concat('.', substring({digits}, 1, 6)))"]
    return f"concat({', '.join(parts)})"


def _padded(number: str) -> str:
    return f"lpad({number}, 2, '0')"


def duration(type: ColumnType, text: str) -> Column:
    """TIME from SQL that is text: up to 838:59:59 on either side of zero."""
    digits = max(type.decimal, 0)
    shape = r"^-?([0-7]?\d\d|8[0-2]\d|83[0-8]):[0-5]\d:[0-5]\d" + (rf"\.\d{{{digits}}}$" if digits else "$")
    odd = (r"^-?0\d\d:", r"^-[0:.]*$", r"838:59:59\.0*[1-9]")
    exact = " and ".join([f"{text} rlike r'{shape}'", *(f"not {text} rlike r'{pattern}'" for pattern in odd)])
    return F.expr(f"if({exact}, {text}, {_loose_duration(digits, text)})")


def _loose_duration(digits: int, text: str) -> str:
    colons, number = f"{text} rlike r'{_DURATION}'", rf"{text} rlike r'^\d{{1,6}}$'"
    below = rf"{text} rlike r'^-\d{{1,6}}$'"
    compact = (f"case when {number} then lpad({text}, 6, '0') "
               f"when {below} then concat('-', lpad(substring({text}, 2, 20), 6, '0')) else {text} end")

    def part(colon_group: int, compact_group: int) -> str:
        other = f"regexp_extract({compact}, r'{_DURATION_NUMBER}', {compact_group})" if compact_group else "''"
        return f"if({colons}, regexp_extract({text}, r'{_DURATION}', {colon_group}), {other})"

    def value(colon_group: int, compact_group: int) -> str:
        return f"coalesce(try_cast({part(colon_group, compact_group)} as bigint), 0)"

    minutes, seconds = value(4, 3), value(5, 4)
    unit = 10 ** (7 - digits)
    micros = f"try_cast(rpad(substring({part(6, 5)}, 1, 7), 7, '0') as bigint)"
    whole = f"(({value(2, 0)} * 24 + {value(3, 2)}) * 3600 + {minutes} * 60 + {seconds})"
    units = f"{whole} * {10**digits}L + ({micros} + {unit // 2}) div {unit}"
    known = f"({colons} or {compact} rlike r'{_DURATION_NUMBER}') and {minutes} < 60 and {seconds} < 60"
    most = (838 * 3600 + 59 * 60 + 59) * 10**digits
    negative = rf"{text} rlike r'^\s*-'"
    clock = let_sql(units, lambda units: f"if({units} <= {most}L, {_clock(units, digits, negative)}, null)")
    return f"if({known}, {clock}, null)"


def _clock(units: str, digits: int, negative: str) -> str:
    seconds = f"({units} div {10**digits}L)"
    hours = f"cast({seconds} div 3600 as string)"
    parts = [
        f"if({negative} and {units} > 0, '-', '')", f"if(length({hours}) < 2, lpad({hours}, 2, '0'), {hours})",
        "':'", _padded(f"cast({seconds} div 60 % 60 as string)"), "':'", _padded(f"cast({seconds} % 60 as string)")]
    if digits:
        parts += ["'.'", f"lpad(cast({units} % {10**digits}L as string), {digits}, '0')"]
    return f"concat({', '.join(parts)})"
