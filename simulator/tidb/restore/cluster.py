"""Writes statements on placement policies and resource groups, which only TiDB has.

One law: such a statement is one comment as a whole; of placement nothing stays but names.
"""

from __future__ import annotations

from simulator.tidb.restore.names import feature, words
from simulator.tidb.restore.restoring import quoted, string
from simulator.tidb.syntax.objects import PlacementPolicy, ResourceGroup
from simulator.tidb.syntax.tables import TableOption


def placement_policy(statement: PlacementPolicy) -> str:
    """Nothing for ALTER; each option of CREATE leaves the blank before it."""
    if statement.verb == "ALTER":
        return ""
    return feature(head(statement) + " " * len(statement.options), "placement")


def kept_placement_policy(statement: PlacementPolicy) -> str:
    """All of it, as releases before 6.0 send it."""
    return feature(words(head(statement), *map(option, statement.options)), "placement")


def head(statement: PlacementPolicy) -> str:
    replace = "OR REPLACE" if statement.or_replace else ""
    return words(statement.verb, replace, "PLACEMENT POLICY", if_exists(statement), quoted(statement.name))


def option(given: TableOption) -> str:
    return f"{given.name} = {string(given.value) if given.quoted else given.value}"


def resource_group(statement: ResourceGroup) -> str:
    options = ", ".join(f"{name} = {value}" for name, value in statement.options)
    name = quoted(statement.name)
    return feature(words(statement.verb, "RESOURCE GROUP", if_exists(statement), name, options), "resource_group")


def if_exists(statement: PlacementPolicy | ResourceGroup) -> str:
    if not statement.exists:
        return ""
    return "IF NOT EXISTS" if statement.verb == "CREATE" else "IF EXISTS"
