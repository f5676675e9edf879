"""NEXTVAL, LASTVAL and SETVAL of sequences (tidb pkg/expression/builtin_other.go, nextValFunctionClass)."""

from __future__ import annotations

from typing import Any

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, SequenceInfo, object_key
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.expression import Expression, Row
from simulator.tidb.storage.sequences import RunOut, SequenceValues


def compile_sequence(tree: syntax.SequenceCall, scope: QueryScope) -> Expression:
    """Return a call of a function of a sequence, which has another value in each row. Raises SqlError."""
    scope.compilation.varying += 1
    schema = tree.sequence.schema or scope.database
    if not schema:
        raise sql_error(1046)
    key = object_key(schema, tree.sequence.name)
    _info(key, schema, tree.sequence.name, scope.context)

    def evaluate(row: Row, context: Any) -> int | None:
        values = _values(_info(key, schema, tree.sequence.name, context), key, context)
        known: dict[Key, int] = context.session.sequence_values
        if tree.function == "LASTVAL":
            return known.get(key)
        if tree.function == "SETVAL":
            return values.set(tree.value)
        try:
            known[key] = values.next()
        except RunOut:
            info = values.info
            raise sql_error_with_text(4135, f"Sequence '{info.schema}.{info.name}' has run out") from None
        return known[key]

    return Expression(evaluate, "int")


def _info(key: Key, schema: str, name: str, context: StatementContext) -> SequenceInfo:
    """Return a sequence of the catalog. Raises SqlError 1146, and 1347 for another object."""
    catalog = context.database.catalog
    info = catalog.sequences.get(key)
    if info is not None:
        return info
    if catalog.has(*key):
        raise sql_error(1347, schema, name, "SEQUENCE")
    raise sql_error(1146, schema, name)


def _values(info: SequenceInfo, key: Key, context: StatementContext) -> SequenceValues:
    known = context.database.sequences
    values = known.get(key)
    if values is None:
        values = known[key] = SequenceValues(info)
    elif values.info is not info:
        values.altered(info)
    return values
