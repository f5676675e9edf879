"""MySQL's functions that Python computes, since DuckDB's differ from TiDB's.

Arguments and results are texts, None for NULL; bytes are texts with one character per byte. Functions raise
FunctionProblem.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.functions import (
    addresses,
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

_NAMES_BY_MODULE = {
    addresses: "inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped is_uuid"
    " uuid_to_bin bin_to_uuid",
    intervals: "date_add duration_add timestamp_add",
    json_changes: "json_set json_insert json_replace json_remove json_array_append json_array_insert"
    " json_merge_preserve json_merge_patch",
    json_functions: "json_of_text json_scalar json_key json_pair json_merged json_shown json_extract json_unquote"
    " json_unquote_document json_valid json_length json_keys json_depth json_type json_storage_size json_storage_free"
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

PYTHON_FUNCTIONS: dict[str, Callable[..., str | None]] = {
    **{name: getattr(module, name) for module, names in _NAMES_BY_MODULE.items() for name in names.split()},
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
    return None if None in arguments and name not in FUNCTIONS_OF_NULL else PYTHON_FUNCTIONS[name](*arguments)
