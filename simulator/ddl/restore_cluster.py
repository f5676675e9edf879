"""Writes statements on placement policies and resource groups, which only TiDB has.

One law: such a statement is one comment as a whole; of placement nothing stays but names.
"""

from __future__ import annotations

from simulator.ddl.restore_names import feature, words
from simulator.ddl.statements import PlacementPolicy, ResourceGroup
from simulator.schema.restoring import quoted


def placement_policy(statement: PlacementPolicy) -> str:
    """Nothing for ALTER; each option of CREATE leaves the blank before it."""
    if statement.verb == "ALTER":
        return ""
    replace = "OR REPLACE" if statement.or_replace else ""
    head = words(statement.verb, replace, "PLACEMENT POLICY", if_exists(statement), quoted(statement.name))
    return feature(head + " " * len(statement.options), "placement")


def resource_group(statement: ResourceGroup) -> str:
    options = ", ".join(f"{name} = {value}" for name, value in statement.options)
    name = quoted(statement.name)
    return feature(words(statement.verb, "RESOURCE GROUP", if_exists(statement), name, options), "resource_group")


def if_exists(statement: PlacementPolicy | ResourceGroup) -> str:
    if not statement.exists:
        return ""
    return "IF NOT EXISTS" if statement.verb == "CREATE" else "IF EXISTS"
