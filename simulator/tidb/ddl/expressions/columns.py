"""The columns that SQL expressions name: of generated columns, functional keys, partitioning.

One law: only names are found; nothing is evaluated.
"""

from __future__ import annotations

from functools import lru_cache

from simulator.errors import SchemaError
from simulator.tidb.model.table import Column, Index, Partitioning, Table
from simulator.tidb.parser.expressions.operators import parse_node
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.expressions import names_in


@lru_cache(maxsize=4096)
def qualified_names(expression: str) -> frozenset[tuple[str, ...]]:
    """The columns that an expression names, with what stands before them; none where the text cannot be read."""
    try:
        tree = parse_tokens(expression, tokenize(expression), parse_node)
    except (SchemaError, RecursionError):
        return frozenset()
    return frozenset(name.parts for name in names_in(tree))


def column_names(expression: str) -> frozenset[str]:
    """Names in lower case of the columns in an expression; none where the text cannot be read."""
    return frozenset(parts[-1].lower() for parts in qualified_names(expression))


def generation_columns(column: Column) -> frozenset[str]:
    """The columns that a generated column is computed from."""
    return column_names(column.generated_expression) if column.generated else frozenset()


def expression_columns(index: Index) -> frozenset[str]:
    """The columns in the expressions of a functional key."""
    return frozenset().union(*(column_names(part.expression) for part in index.columns if part.expression))


def partitioning_columns(partitioning: Partitioning | None) -> frozenset[str]:
    """The columns that say which partition a row is in."""
    if partitioning is None:
        return frozenset()
    return frozenset(name.lower() for name in partitioning.columns) | column_names(partitioning.expression or "1")


def dependent_kind(table: Table, name: str) -> str:
    """What needs the column: `generated`, `functional` or nothing (TiDB: hasDependentByGeneratedColumn)."""
    wanted = name.lower()
    if any(wanted in generation_columns(column) for column in table.columns):
        return "generated"
    return "functional" if any(wanted in expression_columns(index) for index in table.indexes) else ""


def normalize(expression: str) -> str:
    """An expression without what does not count in it."""
    return "".join(expression.replace("`", "").split()).lower()
