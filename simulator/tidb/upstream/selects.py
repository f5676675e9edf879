"""Queries as relations.

One law: what a clause sees is what MySQL lets it see.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.syntax.queries import QueryTree, WithTree
from simulator.tidb.upstream.scopes import Answers, QueryScope
from simulator.tidb.upstream.session_values import refused
from simulator.tidb.upstream.sources import Relation


def relation_of(query: QueryTree, answers: Answers, outer: QueryScope) -> Relation:
    """The relation of a query inside of those around it. Raises SqlError."""
    raise refused("a query inside of a statement is not computed; expressions over its tables are")


def with_tables(common: WithTree, scope: QueryScope) -> QueryScope:
    """A scope that knows the tables of WITH. Raises SqlError."""
    if common.recursive:
        raise refused("WITH RECURSIVE is not computed; WITH is")
    known = dict(scope.common)
    for table in common.tables:
        known = {**known, table.name.lower(): (table, known)}
    return replace(scope, common=known)
