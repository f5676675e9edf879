"""Reads statements on placement policies and resource groups.

One law: values of resource groups are kept as TiDB writes them back (TiDB: pkg/parser/ast/ddl.go).
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import one_of
from simulator.tidb.parser.ddl_runaway import background, query_limit
from simulator.tidb.syntax.objects import PlacementPolicy, ResourceGroup
from simulator.tidb.syntax.tables import TableOption

COUNTS = ("FOLLOWERS", "VOTERS", "LEARNERS")
TEXTS = (
    "PRIMARY_REGION", "REGIONS", "SCHEDULE", "CONSTRAINTS", "LEADER_CONSTRAINTS", "FOLLOWER_CONSTRAINTS",
    "VOTER_CONSTRAINTS", "LEARNER_CONSTRAINTS", "SURVIVAL_PREFERENCES",
)
PRIORITIES = ("LOW", "MEDIUM", "HIGH")
BURSTS = MappingProxyType({"1": "TRUE", "TRUE": "TRUE", "0": "FALSE", "FALSE": "FALSE", "MODERATED": "MODERATED",
                           "UNLIMITED": "UNLIMITED", "OFF": "OFF"})


def placement_policy(cursor: Cursor, verb: str, or_replace: bool = False) -> PlacementPolicy:
    """What follows CREATE, ALTER or DROP PLACEMENT POLICY."""
    exists = cursor.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = cursor.name("the name of a placement policy")
    options = () if verb == "DROP" else placement_options(cursor)
    return PlacementPolicy(verb, name, options, or_replace, exists)


def placement_options(cursor: Cursor) -> tuple[TableOption, ...]:
    options = [placement_option(cursor)]
    while not cursor.at_end():
        cursor.accept(",")
        options.append(placement_option(cursor))
    return tuple(options)


def placement_option(cursor: Cursor) -> TableOption:
    word = cursor.word()
    if word not in (*COUNTS, *TEXTS):
        cursor.unexpected(f"one of {', '.join((*TEXTS, *COUNTS))}", (*COUNTS, *TEXTS))
    cursor.take()
    cursor.accept("=")
    if word in TEXTS:
        return TableOption(word, cursor.string(), quoted=True)
    token = cursor.next_token()
    count = cursor.integer()
    if word == "FOLLOWERS" and count == 0:
        cursor.fail("FOLLOWERS must be positive", token)
    return TableOption(word, str(count))


def resource_group(cursor: Cursor, verb: str) -> ResourceGroup:
    """What follows CREATE, ALTER or DROP RESOURCE GROUP."""
    exists = cursor.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = cursor.take().lower() if cursor.word() == "DEFAULT" else cursor.name("the name of a resource group")
    return ResourceGroup(verb, name, () if verb == "DROP" else group_options(cursor), exists)


def group_options(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    while True:
        token = cursor.next_token()
        name, value = group_option(cursor)
        if name in options:
            cursor.fail(f"{name} is said twice", token)
        options[name] = value
        if cursor.at_end():
            return tuple(options.items())
        cursor.accept(",")


def group_option(cursor: Cursor) -> tuple[str, str]:
    """Name and value of an option, as TiDB writes them back."""
    word = cursor.word()
    if word not in GROUP_OPTIONS:
        cursor.unexpected(f"one of {', '.join(GROUP_OPTIONS)}", GROUP_OPTIONS)
    cursor.take()
    return word, GROUP_OPTIONS[word](cursor)


def request_units(cursor: Cursor) -> str:
    cursor.accept("=")
    return "UNLIMITED" if cursor.accept("UNLIMITED") else str(cursor.integer("a number or UNLIMITED"))


def priority(cursor: Cursor) -> str:
    return one_of(cursor, PRIORITIES)


def burstable(cursor: Cursor) -> str:
    said = cursor.accept("=")
    if not said and cursor.word() not in BURSTS:
        return "TRUE"
    return BURSTS[one_of(cursor, tuple(BURSTS))]


GROUP_OPTIONS = MappingProxyType({
    "RU_PER_SEC": request_units,
    "PRIORITY": priority,
    "BURSTABLE": burstable,
    "QUERY_LIMIT": query_limit,
    "BACKGROUND": background,
})
