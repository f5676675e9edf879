"""MySQL's functions that Python computes, since DuckDB's differ from TiDB's.

NULL is None; bytes are texts with one character per byte. Functions raise FunctionProblem. `call_function` calls them by
name with texts.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from simulator.tidb.functions import (
    addresses,
    documents,
    intervals,
    json_changes,
    json_functions,
    regexps,
    texts,
    time_arithmetic,
    time_conversions,
    time_formats,
    time_functions,
)
from simulator.tidb.functions.elementary import ELEMENTARY_FUNCTIONS
from simulator.tidb.functions.problems import FunctionProblem

_NAMES_BY_MODULE = {
    addresses: "inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped is_uuid"
    " uuid_to_bin bin_to_uuid",
    intervals: "date_add duration_add timestamp_add",
    json_changes: "json_set json_insert json_replace json_remove json_array_append json_array_insert"
    " json_merge_preserve json_merge_patch",
    json_functions: "json_of_text json_scalar json_key json_pair json_merged json_shown json_extract json_unquote"
    " json_unquote_document json_length json_keys json_depth json_type json_storage_size json_storage_free"
    " json_pretty json_quote json_array json_object json_contains json_contains_path json_overlaps json_member_of"
    " json_search",
    regexps: "regexp_like regexp_substr regexp_instr regexp_replace",
    texts: "upper lower trim insert make_set export_set ordinal ordinal_byte conv octal octal_text format_number char"
    " as_charset into_charset encode_text bit_bytes bytes_as_text interval to_base64 from_base64 weights format_bytes"
    " format_nano_time password sm3 uncompress uncompressed_length",
    time_arithmetic: "add_to_text add_to_moment add_to_duration add_date_time timediff timestampdiff",
    time_conversions: "moment_of_text moment_of_number moment_of_year moment_of_duration duration_of_text convert_tz"
    " unix_timestamp from_unixtime",
    time_formats: "date_format time_format str_to_date",
    time_functions: "dayofweek weekday dayofyear weekofyear dayname monthname to_days to_seconds last_day datediff"
    " time_of_text week yearweek from_days makedate maketime sec_to_time part_of_moment extract_day part_of_duration"
    " period_add period_diff get_format",
}

PYTHON_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(module, name) for module, names in _NAMES_BY_MODULE.items() for name in names.split()},
    "json_valid": documents.is_json,
    **ELEMENTARY_FUNCTIONS,
}
"""By the names that `python_call` takes."""

FUNCTIONS_OF_NULL = frozenset(
    "is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped uuid_to_bin bin_to_uuid date_add json_set json_insert json_replace"
    " json_array_append json_array_insert json_merge_patch json_pair json_extract json_array json_object"
    " json_contains_path json_search make_set char interval password add_to_moment add_to_duration yearweek".split()
)
"""Functions that are called with NULL. All others return NULL if any argument is NULL."""


def call_function(name: str, arguments: tuple[str | None, ...]) -> str | None:
    """Return the result of a function as text, given its arguments as texts."""
    if None in arguments and name not in FUNCTIONS_OF_NULL:
        return None
    try:
        types = _argument_types(name, len(arguments))
        return as_text(PYTHON_FUNCTIONS[name](*map(_parsed, types, arguments, (None, *arguments))))
    except FunctionProblem as problem:
        problem.value = as_text(problem.value)
        raise


def as_text(value: Any) -> str | None:
    return None if value is None else str(int(value)) if isinstance(value, bool) else str(value)


@functools.cache
def _argument_types(name: str, count: int) -> list[str]:
    """Return the types of so many arguments of a function, as their annotations begin."""
    parameters = inspect.signature(PYTHON_FUNCTIONS[name]).parameters.values()
    types = [str(parameter.annotation).partition(" ")[0] for parameter in parameters]
    return [*types, *types[-1:] * (count - len(types))]


def _parsed(type: str, text: str | None, kind: str | None) -> Any:
    if text is None:
        return None
    if type == "Amount":
        return int(text) if kind == "time" else text
    if type == "Number":
        return {"true": 1, "false": 0}.get(text) or (int(text) if text.lstrip("-").isdigit() else float(text))
    return {"int": int, "float": float, "bool": bool}.get(type, str)(text)
