"""Expressions as TiDB stores them in a table, and shows them in SHOW CREATE TABLE and information_schema.

Generated columns, functional indexes, checks and defaults have keywords in lower case and blanks around symbols (tidb
pkg/ddl/generated_column.go, pkg/ddl/index.go); the expression of a partitioning has neither (pkg/ddl/partition.go).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from simulator.tidb import syntax
from simulator.tidb.expressions.trees import parse_expression, replace_nodes
from simulator.tidb.restore.expressions import restore_node

QUOTED = re.compile(r"""('(?:[^']|'')*'|`(?:[^`]|``)*`)""")


@lru_cache(4096)
def stored_expression(text: str) -> str:
    """Return an expression of a column, an index, a check or a default. Raises SchemaError."""
    parts = QUOTED.split(restore_node(_spaced(parse_expression(text))))
    return "".join(part if number % 2 else part.lower() for number, part in enumerate(parts))


@lru_cache(4096)
def stored_partitioning(text: str) -> str:
    """Return the expression of PARTITION BY; one with an operator stands in parentheses. Raises SchemaError."""
    tree = parse_expression(text)
    restored = restore_node(tree)
    return restored if isinstance(tree, syntax.ColumnName | syntax.Call | syntax.Parenthesised) else f"({restored})"


def _spaced(node: syntax.Node) -> syntax.Node:
    """Return a tree with blanks around the symbols of binary operators."""

    def change(part: syntax.Node) -> syntax.Node | None:
        if not isinstance(part, syntax.Binary) or part.operator[0].isalpha() or part.operator[0] == " ":
            return None
        return replace(part, operator=f" {part.operator} ", left=_spaced(part.left), right=_spaced(part.right))

    return replace_nodes(node, change)
