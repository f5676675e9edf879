"""TiDB's functions: those that expressions can compute, and those that only TiDB can.

TiDB does not know a name that is in neither list.
"""

from __future__ import annotations

from simulator.tidb.expressions.byte_functions import CIPHER_FUNCTIONS, ENCODING_FUNCTIONS
from simulator.tidb.expressions.choices import CHOICE_FUNCTIONS
from simulator.tidb.expressions.expression import UNLIMITED, Function
from simulator.tidb.expressions.json_documents import JSON_FUNCTIONS
from simulator.tidb.expressions.number_functions import NUMBER_FUNCTIONS
from simulator.tidb.expressions.text_functions import TEXT_FUNCTIONS
from simulator.tidb.expressions.time_functions import TIME_FUNCTIONS
from simulator.tidb.expressions.vector_functions import VECTOR_FUNCTIONS

FUNCTIONS: dict[str, Function] = {
    **CHOICE_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **ENCODING_FUNCTIONS,
    **CIPHER_FUNCTIONS,
    **JSON_FUNCTIONS,
    **TIME_FUNCTIONS,
    **VECTOR_FUNCTIONS,
}
"""By TiDB's names."""

_TIDB_ONLY = {
    (0, 0): (
        "CONNECTION_ID CURDATE CURRENT_DATE CURRENT_RESOURCE_GROUP CURRENT_ROLE CURRENT_USER DATABASE FOUND_ROWS "
        "RELEASE_ALL_LOCKS ROW_COUNT SCHEMA SESSION_USER SYSTEM_USER TIDB_CURRENT_TSO TIDB_IS_DDL_OWNER "
        "TIDB_ROW_CHECKSUM TIDB_VERSION USER UTC_DATE UUID UUID_SHORT VERSION"
    ),
    (0, 1): (
        "CURRENT_TIME CURRENT_TIMESTAMP CURTIME LAST_INSERT_ID LOCALTIME LOCALTIMESTAMP NOW RAND SYSDATE UTC_TIME "
        "UTC_TIMESTAMP"
    ),
    (1, 1): (
        "COMPRESS FORMAT_NANO_TIME GROUPING IS_FREE_LOCK IS_USED_LOCK RANDOM_BYTES RELEASE_LOCK SLEEP "
        "TIDB_DECODE_BINARY_PLAN TIDB_DECODE_KEY TIDB_DECODE_PLAN TIDB_ENCODE_SQL_DIGEST TIDB_PARSE_TSO "
        "TIDB_PARSE_TSO_LOGICAL VALIDATE_PASSWORD_STRENGTH"
    ),
    (1, 2): "TIDB_DECODE_SQL_DIGESTS",
    (2, 2): "DECODE ENCODE GET_LOCK JSON_SCHEMA_VALID TIDB_BOUNDED_STALENESS",
}
TIDB_ONLY_FUNCTIONS = {name: counts for counts, names in _TIDB_ONLY.items() for name in names.split()}
"""Functions that expressions cannot compute, those of sessions among them, with the smallest and the largest number of
arguments (TiDB v8.5: pkg/parser/ast/functions.go, without those that pkg/expression/builtin.go lacks)."""

DEFINED_FUNCTIONS = {
    **dict.fromkeys(("DEFAULT_FUNC", "LASTVAL", "NEXTVAL", "OLD_PASSWORD"), (1, 1)),
    **dict.fromkeys(("DES_DECRYPT", "DES_ENCRYPT", "ENCRYPT"), (1, 2)),
    **dict.fromkeys(("REGEXP", "SETVAL"), (2, 2)),
    **dict.fromkeys(("TIDB_ENCODE_INDEX_KEY", "TIDB_ENCODE_RECORD_KEY", "TIDB_MVCC_INFO"), (0, UNLIMITED)),
    "CHAR_FUNC": (2, UNLIMITED),
    "FTS_MATCH_WORD": (0, UNLIMITED),
    "MASTER_POS_WAIT": (2, 4),
    "UNIX_TIMESTAMP": (0, 1),
}
"""The same of functions that TiDB checks by other numbers in definitions, or knows there only."""


def argument_counts(name: str) -> tuple[int, int] | None:
    """Return the smallest and the largest number of arguments of a function in a definition; None for a name that is no
    function there. NULLIF is none (TiDB: pkg/expression/builtin.go, funcs)."""
    function = FUNCTIONS.get(name) if name != "NULLIF" else None
    known = None if function is None else (function.min_arguments, function.max_arguments)
    return DEFINED_FUNCTIONS.get(name) or known or TIDB_ONLY_FUNCTIONS.get(name)
