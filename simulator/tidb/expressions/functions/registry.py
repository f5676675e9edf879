"""TiDB's functions: those that expressions can compute, and those that only TiDB can.

TiDB does not know a name that is in neither list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.tidb.expressions.functions.choices import CHOICE_FUNCTIONS
from simulator.tidb.expressions.functions.json import JSON_FUNCTIONS
from simulator.tidb.expressions.functions.numbers import NUMBER_FUNCTIONS
from simulator.tidb.expressions.functions.python_texts import PYTHON_TEXT_FUNCTIONS, bit_to_bytes
from simulator.tidb.expressions.functions.texts import TEXT_FUNCTIONS
from simulator.tidb.expressions.functions.times import TIME_FUNCTIONS
from simulator.tidb.expressions.values.value import Function, Value

BIT_AS_NUMBER_FUNCTIONS = tuple(
    "HEX BIN OCT CONV CHAR_FUNC FORMAT FORMAT_BYTES INTERVAL ANY_VALUE WEIGHT_STRING".split()
)
"""Functions of text that take a BIT as a number."""


def _with_bits_as_bytes(functions: dict[str, Function]) -> dict[str, Function]:
    """Return the functions so that they take a BIT as bytes."""
    return {
        name: function
        if name in BIT_AS_NUMBER_FUNCTIONS
        else replace(function, compute=_converting_bits(function.compute))
        for name, function in functions.items()
    }


def _converting_bits(compute: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *values: compute(*map(bit_to_bytes, values))


FUNCTIONS: dict[str, Function] = {
    **CHOICE_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **_with_bits_as_bytes(TEXT_FUNCTIONS),
    **_with_bits_as_bytes(PYTHON_TEXT_FUNCTIONS),
    **JSON_FUNCTIONS,
    **TIME_FUNCTIONS,
}
"""By TiDB's names."""


TIDB_ONLY_FUNCTIONS = frozenset(
    """
AES_DECRYPT AES_ENCRYPT COMPRESS CONNECTION_ID CURDATE CURRENT_DATE CURRENT_RESOURCE_GROUP CURRENT_ROLE CURRENT_TIME
CURRENT_TIMESTAMP CURRENT_USER CURTIME DATABASE DECODE ENCODE FOUND_ROWS GET_LOCK GROUPING IS_FREE_LOCK IS_USED_LOCK
JSON_SCHEMA_VALID LAST_INSERT_ID LOAD_FILE LOCALTIME LOCALTIMESTAMP NOW RAND RANDOM_BYTES RELEASE_ALL_LOCKS
RELEASE_LOCK ROW_COUNT SCHEMA SESSION_USER SLEEP SOUNDEX SYSDATE SYSTEM_USER TIDB_BOUNDED_STALENESS TIDB_CURRENT_TSO
TIDB_DECODE_BINARY_PLAN TIDB_DECODE_KEY TIDB_DECODE_PLAN TIDB_DECODE_SQL_DIGESTS TIDB_ENCODE_SQL_DIGEST
TIDB_IS_DDL_OWNER TIDB_PARSE_TSO TIDB_PARSE_TSO_LOGICAL TIDB_ROW_CHECKSUM TIDB_SHARD TIDB_VERSION USER UTC_DATE
UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT VALIDATE_PASSWORD_STRENGTH VEC_AS_TEXT VEC_COSINE_DISTANCE VEC_DIMS
VEC_FROM_TEXT VEC_L1_DISTANCE VEC_L2_DISTANCE VEC_L2_NORM VEC_NEGATIVE_INNER_PRODUCT VERSION VITESS_HASH
""".split()
)
"""Functions that expressions cannot compute (TiDB v8.5: pkg/parser/ast/functions.go)."""
