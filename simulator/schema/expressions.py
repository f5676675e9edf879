"""MySQL expressions of a table definition as Spark SQL: generated columns, partitioning.

One law: a function that Spark has no equal of is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError

_MICROS = "unix_micros(cast({0} as timestamp))"
_SPARK = {
    "to_days": "(datediff(to_date({0}), to_date('1970-01-01')) + 719528)",
    "to_seconds": f"(62167219200 + {_MICROS} div 1000000)",
    "unix_timestamp": f"({_MICROS} div 1000000)",
    "microsecond": f"pmod({_MICROS}, 1000000)",
    "time_to_sec": f"(pmod({_MICROS}, 86400000000) div 1000000)",
    "json_unquote": "{0}",
}
"""Functions that sqlglot or Spark would give another meaning (it counts TO_DAYS from another day)."""

_REFUSED = ("yearweek", "week", "weekofyear", "json_extract", "uuid", "rand")
_STRING_OR_CALL = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\b([A-Za-z_]+)(?=\s*\()", re.DOTALL)


def spark_sql(expression: str, columns: Mapping[str, str]) -> str:
    """Spark SQL of a MySQL expression, its column names (in any case) replaced by Spark's names for typed columns.

    Raises SchemaError for text that does not parse and for functions that Spark has no equal of.
    """
    known = {name.lower(): spark for name, spark in columns.items()}
    try:
        tree = sqlglot.parse_one(_STRING_OR_CALL.sub(_protected, expression), read="mysql")
    except SqlglotError as error:
        raise SchemaError(f"expression {expression!r} cannot be read: {str(error).splitlines()[0]}") from error

    def renamed(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        if node.name.lower() not in known:
            raise SchemaError(f"expression {expression!r} names an unknown column {node.name!r}")
        return exp.column(exp.to_identifier(known[node.name.lower()], quoted=True))

    return _replaced(tree.transform(renamed), expression).sql(dialect="spark")


def _protected(found: re.Match[str]) -> str:
    """A call of a function of ours under a name that sqlglot does not know."""
    name = (found[1] or "").lower()
    return f"tidb_{name}" if name in _SPARK or name in _REFUSED else found[0]


def _replaced(tree: exp.Expression, expression: str) -> exp.Expression:
    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Anonymous) or not node.name.lower().startswith("tidb_"):
            return node
        template = _SPARK.get(node.name.lower().removeprefix("tidb_"))
        if template is None or len(node.expressions) != 1:
            name = node.name.removeprefix("tidb_").upper()
            raise SchemaError(f"expression {expression!r}: {name} cannot be computed outside TiDB")
        inner = _replaced(node.expressions[0], expression).sql(dialect="spark")
        return sqlglot.parse_one(template.format(inner), read="spark")

    replaced = tree.transform(replace)
    assert isinstance(replaced, exp.Expression)
    return replaced
