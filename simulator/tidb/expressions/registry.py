"""TiDB's functions: those that expressions can compute, and those that only TiDB can.

TiDB does not know a name that is in neither list.
"""

from __future__ import annotations

from simulator.tidb.expressions.choices import CHOICE_FUNCTIONS
from simulator.tidb.expressions.expression import Function
from simulator.tidb.expressions.sql_functions.cipher_functions import CIPHER_FUNCTIONS
from simulator.tidb.expressions.sql_functions.encoding_functions import ENCODING_FUNCTIONS
from simulator.tidb.expressions.sql_functions.json_functions import JSON_FUNCTIONS
from simulator.tidb.expressions.sql_functions.number_functions import NUMBER_FUNCTIONS
from simulator.tidb.expressions.sql_functions.text_functions import TEXT_FUNCTIONS
from simulator.tidb.expressions.sql_functions.time_functions import TIME_FUNCTIONS
from simulator.tidb.expressions.sql_functions.vector_functions import VECTOR_FUNCTIONS

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

TIDB_ONLY_FUNCTIONS = frozenset(
    """
COMPRESS CONNECTION_ID CURDATE CURRENT_DATE CURRENT_RESOURCE_GROUP CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP
CURRENT_USER CURTIME DATABASE FOUND_ROWS GET_LOCK GROUPING IS_FREE_LOCK IS_USED_LOCK JSON_SCHEMA_VALID LAST_INSERT_ID
LOCALTIME LOCALTIMESTAMP NOW RAND RANDOM_BYTES RELEASE_ALL_LOCKS RELEASE_LOCK ROW_COUNT SCHEMA SESSION_USER SLEEP
SYSDATE SYSTEM_USER TIDB_BOUNDED_STALENESS TIDB_CURRENT_TSO TIDB_DECODE_BINARY_PLAN TIDB_DECODE_KEY TIDB_DECODE_PLAN
TIDB_DECODE_SQL_DIGESTS TIDB_ENCODE_SQL_DIGEST TIDB_IS_DDL_OWNER TIDB_PARSE_TSO TIDB_PARSE_TSO_LOGICAL
TIDB_ROW_CHECKSUM TIDB_VERSION USER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT VERSION
""".split()
)
"""Functions that expressions cannot compute, those of sessions among them (TiDB v8.5: pkg/parser/ast/functions.go, without
those that pkg/expression/builtin.go lacks)."""
