"""Behaviours of TiDB: the SQL that the release's TiDB accepts."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.releases.behaviour import section

SQL = section("what can be asked for", "SQL")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SqlBehaviours:
    """Which SQL TiDB accepts."""

    default_functions: frozenset[str] = field(
        metadata=SQL(
            """Functions that may be a column's default beside those of TiDB 8.0 (later: tidb %s).""",
            "ddl/add_column.go getFuncCallDefaultValue",
        )
    )

    global_indexes: bool = field(
        metadata=SQL(
            "Whether a unique key that lacks a column of the partitioning may be GLOBAL, and one that is not is "
            "refused by 8264, not 1503 (8.4+: tidb %s).",
            "ddl/partition.go checkPartitioningKeysConstraints",
        )
    )

    default_parentheses: bool = field(
        metadata=SQL(
            "Whether DEFAULT takes a literal or a column in parentheses, of which TiDB then refuses the column (8.1+: "
            "tidb %s).",
            "parser/parser.y DefaultValueExpr",
        )
    )

    gb18030: bool = field(
        metadata=SQL(
            "Whether the character set gb18030 is known (not up to 8.0: tidb %s).", "parser/charset/charset.go"
        )
    )

    vectors: bool = field(
        metadata=SQL("Whether there are columns of type VECTOR and indexes on them (8.4+: tidb %s).", "parser/parser.y")
    )

    lone_null_refused: bool = field(
        metadata=SQL(
            "Whether a NULL for a NOT NULL column is an error in an INSERT of one row without strict mode, too (TiDB "
            "8.4+: %s); elsewhere it becomes the zero of its type, as in an INSERT of several rows.",
            "executor/select.go ResetContextOfStmt",
        )
    )
