"""Texts of TiDB's DDL errors by class and code.

Errors with several texts are made by `unsupported_error` and `error_with_text` (TiDB v8.5: pkg/errno/errname.go,
pkg/util/dbterror/ddl_terror.go, pkg/infoschema/error.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simulator.errors import DdlError, SchemaError

TEXTS = {
    "autoid:1075": "Incorrect table definition; there can be only one auto column and it must be defined as a key",
    "planner:1046": "No database selected",
    "schema:1007": "Can't create database '{}'; database exists",
    "schema:1008": "Can't drop database '{}'; database doesn't exist",
    "schema:1049": "Unknown database '{}'",
    "schema:1050": "Table '{}' already exists",
    "schema:1051": "Unknown table '{}'",
    "schema:1054": "Unknown column '{}' in '{}'",
    "schema:1060": "Duplicate column name '{}'",
    "schema:1061": "Duplicate key name '{}'",
    "schema:1068": "Multiple primary key defined",
    "schema:1070": "Too many key parts specified; max {} parts allowed",
    "schema:1091": "Can't DROP '{}'; check that column/key exists",
    "schema:1146": "Table '{}.{}' doesn't exist",
    "schema:1176": "Key '{}' doesn't exist in table '{}'",
    "schema:1215": "Cannot add foreign key constraint",
    "schema:1239": "Incorrect foreign key definition for '{}': Key reference and table reference don't match",
    "schema:1506": "Foreign key clause is not yet supported in conjunction with partitioning",
    "schema:1822": "Failed to add the foreign key constraint. Missing index for constraint '{}' in the referenced"
    " table '{}'",
    "schema:1824": "Failed to open the referenced table '{}'",
    "schema:1830": "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
    "schema:3104": "Cannot define foreign key with {} clause on a generated column.",
    "schema:3733": "Foreign key '{}' uses virtual column '{}' which is not supported.",
    "schema:3734": "Failed to add the foreign key constraint. Missing column '{}' for constraint '{}' in the"
    " referenced table '{}'",
    "schema:1450": "Changing schema from '{}' to '{}' is not allowed.",
    "schema:4136": "Sequence '{}.{}' values are conflicting",
    "schema:4139": "Unknown SEQUENCE: '{}'",
    "ddl:1025": "Error on rename of '{}.{}' to '{}.{}' (errno: 168 - Database `{}` doesn't exist)",
    "ddl:1054": "Unknown column '{}' in '{}'",
    "ddl:1059": "Identifier name '{}' is too long",
    "ddl:1061": "Duplicate key name '{}'",
    "ddl:1067": "Invalid default value for '{}'",
    "ddl:1069": "Too many keys specified; max {} keys allowed",
    "ddl:1071": "Specified key was too long ({} bytes); max key length is {} bytes",
    "ddl:1072": "Key column '{}' doesn't exist in table",
    "ddl:1089": "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part,"
    " or the storage engine doesn't support unique prefix keys",
    "ddl:1090": "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
    "ddl:1091": "Can't DROP '{}'; check that column/key exists",
    "ddl:1101": "BLOB/TEXT/JSON column '{}' can't have a default value",
    "ddl:1102": "Incorrect database name '{}'",
    "ddl:1103": "Incorrect table name '{}'",
    "ddl:1113": "A table must have at least 1 column",
    "ddl:1115": "Unknown character set: '{}'",
    "ddl:1117": "Too many columns",
    "ddl:1166": "Incorrect column name '{}'",
    "ddl:1170": "BLOB/TEXT column '{}' used in key specification without a key length",
    "ddl:1171": "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
    "ddl:1253": "COLLATION '{}' is not valid for CHARACTER SET '{}'",
    "ddl:1273": "Unknown collation: '{}'",
    "ddl:1294": "Invalid ON UPDATE clause for '{}' column",
    "ddl:1347": "'{}.{}' is not {}",
    "ddl:1391": "Key part '{}' length cannot be 0",
    "ddl:1479": "Syntax : {} PARTITIONING requires definition of VALUES {} for each partition",
    "ddl:1480": "Only {} PARTITIONING can use VALUES {} in partition definition",
    "ddl:1481": "MAXVALUE can only be used in last partition definition",
    "ddl:1488": "Field in list of fields for partition function not found in table",
    "ddl:1491": "The {} function returns the wrong type",
    "ddl:1492": "For {} partitions each partition must be defined",
    "ddl:1493": "VALUES LESS THAN value must be strictly increasing for each partition",
    "ddl:1495": "Multiple definition of same constant in list partitioning",
    "ddl:1499": "Too many partitions (including subpartitions) were defined",
    "ddl:1503": "A {} must include all columns in the table's partitioning function",
    "ddl:1505": "Partition management on a not partitioned table is not possible",
    "ddl:1507": "Error in list of partitions to DROP",
    "ddl:1508": "Cannot remove all partitions, use DROP TABLE instead",
    "ddl:1509": "COALESCE PARTITION can only be used on HASH/KEY partitions",
    "ddl:1512": "{} PARTITION can only be used on RANGE/LIST partitions",
    "ddl:1515": "At least one partition must be coalesced",
    "ddl:1517": "Duplicate partition name {}",
    "ddl:1553": "Cannot drop index '{}': needed in a foreign key constraint",
    "ddl:1567": "Incorrect partition name",
    "ddl:1656": "Cannot use MAXVALUE as value in VALUES IN",
    "ddl:1657": "Cannot have more than one value for this type of {} partitioning",
    "ddl:1658": "Row expressions in VALUES IN only allowed for multi-field column partitioning",
    "ddl:1659": "Field '{}' is of a not allowed type for this type of partitioning",
    "ddl:1674": "Statement is unsafe because it uses a system function that may return a different value on the slave",
    "ddl:1701": "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}` CONSTRAINT `{}`)",
    "ddl:1731": "Non matching attribute '{}' between partition and table",
    "ddl:1732": "Table to exchange with partition is partitioned: '{}'",
    "ddl:1733": "Table to exchange with partition is temporary: '{}'",
    "ddl:1736": "Tables have different definitions",
    "ddl:1740": "Table to exchange with partition has foreign key references: '{}'",
    "ddl:1826": "Duplicate foreign key constraint name '{}'",
    "ddl:1828": "Cannot drop column '{}': needed in a foreign key constraint '{}'",
    "ddl:1829": "Cannot drop column '{}': needed in a foreign key constraint '{}' of table '{}'",
    "ddl:1832": "Cannot change column '{}': used in a foreign key constraint '{}'",
    "ddl:1833": "Cannot change column '{}': used in a foreign key constraint '{}' of table '{}'",
    "ddl:3106": "'{}' is not supported for generated columns.",
    "ddl:3107": "Generated column can refer only to generated columns defined prior to it.",
    "ddl:3108": "Column '{}' has a generated column dependency.",
    "ddl:3109": "Generated column '{}' cannot refer to auto-increment column.",
    "ddl:3152": "JSON column '{}' cannot be used in key specification.",
    "ddl:3522": "A primary key index cannot be invisible",
    "ddl:3730": "Cannot drop table '{}' referenced by a foreign key constraint '{}' on table '{}'.",
    "ddl:3756": "The primary key cannot be an expression index",
    "ddl:3780": "Referencing column '{}' and referenced column '{}' in foreign key constraint '{}' are incompatible.",
    "ddl:3812": "An expression of non-boolean type specified to a check constraint '{}'.",
    "ddl:3813": "Column check constraint '{}' references other column.",
    "ddl:3814": "An expression of a check constraint '{}' contains disallowed function: {}.",
    "ddl:3815": "An expression of a check constraint '{}' contains disallowed function.",
    "ddl:3816": "An expression of a check constraint '{}' cannot refer to a user or system variable.",
    "ddl:3818": "Check constraint '{}' cannot refer to an auto-increment column.",
    "ddl:3820": "Check constraint '{}' refers to non-existing column '{}'.",
    "ddl:3823": "Column '{}' cannot be used in a check constraint '{}': needed in a foreign key constraint"
    " referential action.",
    "ddl:3940": "Constraint '{}' does not exist.",
    "ddl:3959": "Check constraint '{}' uses column '{}', hence column cannot be dropped or renamed.",
    "ddl:3822": "Duplicate check constraint name '{}'.",
    "ddl:3837": "Column '{}' has an expression index dependency and cannot be dropped or renamed",
    "ddl:3855": "Column '{}' has a partitioning function dependency and cannot be dropped or renamed",
    "ddl:3981": "Storage engine does not support ENGINE_ATTRIBUTE.",
    "ddl:8148": "Field '{}' is of a not supported type for TTL config, expect DATETIME, DATE or TIMESTAMP",
    "ddl:8149": "Cannot drop column '{}': needed in TTL config",
    "ddl:8150": "Cannot set {} on a table without TTL config",
    "ddl:8151": "Set TTL for temporary table is not allowed",
    "ddl:8152": "Set TTL for a table referenced by foreign key is not allowed",
    "ddl:8216": "Invalid auto random: {}",
    "ddl:8230": "Unsupported using sequence as default value in add column '{}'",
    "ddl:8242": "'{}' is unsupported on cache tables.",
    "ddl:8264": "Global Index is needed for index '{}', since the unique index is not including all partitioning"
    " columns, and GLOBAL is not given as IndexOption",
    "table:1735": "Unknown partition '{}' in table '{}'",
    "types:1067": "Invalid default value for '{}'",
    "types:1074": "Column length too big for column '{}' (max = {}); use BLOB or TEXT instead",
    "types:1291": "Column '{}' has duplicated value '{}' in {}",
    "types:1425": "Too big scale {} specified for column '{}'. Maximum is {}.",
    "types:1426": "Too-big precision {} specified for '{}'. Maximum is {}.",
    "types:1427": "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{}').",
    "types:1439": "Display width out of range for column '{}' (max = {})",
    "planner:8006": "`{}` is unsupported on temporary tables.",
    "ddl:1286": "Unknown storage engine '{}'",
    "ddl:1302": "Conflicting declarations: 'CHARACTER SET {}' and 'CHARACTER SET {}'",
    "ddl:1167": "The used storage engine can't index column '{}'",
    "ddl:1486": "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed",
    "ddl:1504": "Number of {} = 0 is not an allowed value",
    "ddl:1500": "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning",
    "ddl:1562": "Cannot create temporary table with partitions",
    "ddl:1563": "Partition constant is out of partition function domain",
    "ddl:1564": "This partition function is not allowed",
    "ddl:1628": "Comment for table '{}' is too long (max = 2048)",
    "ddl:1629": "Comment for field '{}' is too long (max = 1024)",
    "ddl:1688": "Comment for index '{}' is too long (max = 1024)",
    "ddl:1793": "Comment for table partition '{}' is too long (max = 1024)",
    "ddl:1652": "Duplicate partition field name '{}'",
    "ddl:1653": "Inconsistency in usage of column lists for partitioning",
    "ddl:1654": "Partition column values of incorrect type",
    "ddl:1697": "VALUES value for partition '{}' must have type INT",
    "types:1063": "Incorrect column specifier for column '{}'",
    "types:1097": "Too many strings for column {} and SET",
    "types:1367": "Illegal {} '{}' value found during parsing",
    "types:3013": "Invalid size for column '{}'.",
    "ddl:3102": "Expression of generated column '{}' contains a disallowed function.",
    "ddl:3505": "Too long enumeration/set value for column {}.",
    "ddl:3753": "Cannot create an expression index on a function that returns a JSON or GEOMETRY value",
    "ddl:3754": "Expression index '{}' cannot refer to an auto-increment column",
    "ddl:3757": "Cannot create an expression index on an expression that returns a BLOB or TEXT."
    " Please consider using CAST",
    "ddl:3758": "Expression of expression index '{}' contains a disallowed function",
    "ddl:3762": "Expression index on a column is not supported. Consider using a regular index instead",
    "ddl:3764": "Expression of generated column '{}' cannot refer to a row value",
    "ddl:3770": "Default value expression of column '{}' contains a disallowed function: `{}`.",
    "ddl:3800": "Expression of expression index '{}' cannot refer to a row value",
    "ddl:1111": "Invalid use of group function",
    "ddl:3593": "You cannot use the window function '{}' in this context.'",
    "expression:1582": "Incorrect parameter count in the call to native function '{}'",
    "expression:1235": "This version of TiDB doesn't yet support '{}'",
    "ddl:8228": "Unsupported sequence default value for column type '{}'",
    "ddl:8232": "CREATE/ALTER table with union option is not supported",
    "ddl:8233": "CREATE/ALTER table with insert method option is not supported",
    "ddl:8237": "Invalid attributes: {}",
    "ddl:8238": "Placement policy '{}' already exists",
    "ddl:8239": "Unknown placement policy '{}'",
}


def tidb_error(code: str, *values: object) -> DdlError:
    return DdlError(TEXTS[code].format(*values), code)


def unsupported_error(what: str) -> DdlError:
    return DdlError(f"Unsupported {what}", "ddl:8200")


def error_with_text(code: str, text: str) -> DdlError:
    return DdlError(text, code)


def syntax_error(text: str) -> DdlError:
    return error_with_text("parser:1064", f"You have an error in your SQL syntax: {text}")


def auto_random_error(text: str) -> DdlError:
    return tidb_error("ddl:8216", text)


@contextmanager
def converting_errors(code: str) -> Iterator[None]:
    """Convert a SchemaError to a DdlError of that code."""
    try:
        yield
    except SchemaError as error:
        raise DdlError(str(error), code) from error
