"""TiDB's errors of refused statements: MySQL's number, SQLSTATE and text.

Source: tidb v8.5 pkg/errno/errname.go (texts), pkg/parser/mysql/state.go (SQLSTATEs).
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.errors import CodedError, SqlError

ERRORS = MappingProxyType(
    {
        # sessions and names
        1046: ("3D000", "No database selected"),
        1049: ("42000", "Unknown database '{}'"),
        1050: ("42S01", "Table '{}' already exists"),
        1051: ("42S02", "Unknown table '{}'"),
        1052: ("23000", "Column '{}' in {} is ambiguous"),
        1054: ("42S22", "Unknown column '{}' in '{}'"),
        1066: ("42000", "Not unique table/alias: '{}'"),
        1109: ("42S02", "Unknown table '{}' in {}"),
        1110: ("42000", "Column '{}' specified twice"),
        1115: ("42000", "Unknown character set: '{}'"),
        1146: ("42S02", "Table '{}.{}' doesn't exist"),
        1193: ("HY000", "Unknown system variable '{}'"),
        1229: ("HY000", "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL"),
        1230: ("42000", "Variable '{}' doesn't have a default value"),
        1231: ("42000", "Variable '{}' can't be set to the value of '{}'"),
        1232: ("42000", "Incorrect argument type to variable '{}'"),
        1238: ("HY000", "Variable '{}' is a {} variable"),
        1273: ("HY000", "Unknown collation: '{}'"),
        1298: ("HY000", "Unknown or incorrect time zone: '{}'"),
        1305: ("42000", "{} {} does not exist"),
        1347: ("HY000", "'{}.{}' is not {}"),
        1568: ("25001", "Transaction characteristics can't be changed while a transaction is in progress"),
        1735: ("HY000", "Unknown partition '{}' in table '{}'"),
        # texts and queries
        1055: (
            "42000",
            "Expression #{} of {} is not in GROUP BY clause and contains nonaggregated column '{}' which is not"
            " functionally dependent on columns in GROUP BY clause; this is incompatible with"
            " sql_mode=only_full_group_by",
        ),
        1056: ("42000", "Can't group on '{}'"),
        1064: ("42000", "{}"),
        1065: ("42000", "Query was empty"),
        1093: ("HY000", "You can't specify target table '{}' for update in FROM clause"),
        1105: ("HY000", "{}"),
        1111: ("HY000", "Invalid use of group function"),
        1136: ("21S01", "Column count doesn't match value count at row {}"),
        1140: (
            "42000",
            "In aggregated query without GROUP BY, expression #{} of {} contains nonaggregated column '{}';"
            " this is incompatible with sql_mode=only_full_group_by",
        ),
        1221: ("HY000", "Incorrect usage of {} and {}"),
        1222: ("21000", "The used SELECT statements have a different number of columns"),
        1235: ("42000", "This version of TiDB doesn't yet support '{}'"),
        1241: ("21000", "Operand should contain {} column(s)"),
        1242: ("21000", "Subquery returns more than 1 row"),
        1248: ("42000", "Every derived table must have its own alias"),
        1267: ("HY000", "Illegal mix of collations ({},{}) and ({},{}) for operation '{}'"),
        1288: ("HY000", "The target table {} of the {} is not updatable"),
        1471: ("HY000", "The target table {} of the {} is not insertable-into"),
        1582: ("42000", "Incorrect parameter count in the call to native function '{}'"),
        1353: (
            "HY000",
            "In definition of view, derived table or common table expression, SELECT list and column names list have"
            " different column counts",
        ),
        3065: (
            "HY000",
            "Expression #{} of {} is not in SELECT list, references column '{}' which is not in SELECT list;"
            " this is incompatible with {}",
        ),
        3636: (
            "HY000",
            "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a larger value",
        ),
        1317: ("70100", "Query execution was interrupted"),
        8175: (
            "HY000",
            "Your query has been cancelled due to exceeding the allowed memory limit for a single SQL query. Please try"
            " narrowing your query scope or increase the tidb_mem_quota_query limit and try again.[conn={}]",
        ),
        # values
        8025: ("HY000", "entry too large, the max entry size is {}, the size of data is {}"),
        1048: ("23000", "Column '{}' cannot be null"),
        1138: ("22004", "Invalid use of NULL value"),
        1264: ("22003", "Out of range value for column '{}' at row {}"),
        1265: ("01000", "Data truncated for column '{}' at row {}"),
        1292: ("22007", "Incorrect {} value: '{}' for column '{}' at row {}"),
        1364: ("HY000", "Field '{}' doesn't have a default value"),
        1365: ("22012", "Division by 0"),
        1366: ("HY000", "Incorrect {} value: '{}' for column '{}' at row {}"),
        1406: ("22001", "Data too long for column '{}' at row {}"),
        1411: ("HY000", "Incorrect {} value: '{}' for function {}"),
        1467: ("HY000", "Failed to read auto-increment value from storage engine"),
        1525: ("HY000", "Incorrect {} value: '{}'"),
        1690: ("22003", "{} value is out of range in '{}'"),
        3105: ("HY000", "The value specified for generated column '{}' in table '{}' is not allowed."),
        3140: ("22032", "Invalid JSON text: {}"),
        3143: ("42000", "Invalid JSON path expression. The error is around character position {}."),
        3157: ("22032", "The JSON document exceeds the maximum depth."),
        8216: ("HY000", "Invalid auto random: {}"),
        # keys, constraints, partitions
        1062: ("23000", "Duplicate entry '{}' for key '{}'"),
        1451: ("23000", "Cannot delete or update a parent row: a foreign key constraint fails ({})"),
        1452: ("23000", "Cannot add or update a child row: a foreign key constraint fails ({})"),
        1526: ("HY000", "Table has no partition for value {}"),
        1737: ("HY000", "Found a row that does not match the partition"),
        1748: ("HY000", "Found a row not matching the given partition set"),
        3819: ("HY000", "Check constraint '{}' is violated."),
    }
)
"""SQLSTATE and text by number. Each brace is a value that the text names."""

SQLSTATES = MappingProxyType(
    {
        **dict.fromkeys((1059, 1061, *range(1067, 1073), 1074, 1075, 1090, 1091), "42000"),
        **dict.fromkeys((1101, 1102, 1103, 1113, 1166, 1170, 1171, 1239, 1253), "42000"),
        **dict.fromkeys((1425, 1426, 1427, 1439, 1701), "42000"),
        1060: "42S21",
    }
)
"""SQLSTATEs of errors that only DDL raises. The SQLSTATE of other numbers is HY000."""


def sql_error(number: int, *values: object) -> SqlError:
    """Return the error of a number with its text about these values."""
    state, text = ERRORS[number]
    return SqlError(number, state, text.format(*values))


def sql_error_with_text(number: int, text: str) -> SqlError:
    """Return an error whose text TiDB writes at the place where it is raised."""
    return SqlError(number, sqlstate(number), text)


def not_simulated(text: str) -> SqlError:
    """Return the error of a statement that the simulator does not compute. `text` says which part, and what is
    accepted."""
    return sql_error_with_text(1235, text)


def error_number(error: SqlError | CodedError) -> int:
    """Return MySQL's number of an error (1146 for `schema:1146`), or 1105 for an error without one."""
    if isinstance(error, SqlError):
        return error.number
    number = error.code.rpartition(":")[2]
    return int(number) if number.isdigit() else 1105


def sqlstate(number: int) -> str:
    return ERRORS[number][0] if number in ERRORS else SQLSTATES.get(number, "HY000")
