"""Reads statements on placement policies and resource groups.

One law: values of resource groups are kept as TiDB writes them back (TiDB: pkg/parser/ast/ddl.go).
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.parser.cursor import TiDBParser
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


def placement_policy(parser: TiDBParser, verb: str, or_replace: bool = False) -> PlacementPolicy:
    """What follows CREATE, ALTER or DROP PLACEMENT POLICY."""
    exists = parser.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = parser.free_name("the name of a placement policy")
    options = () if verb == "DROP" else placement_options(parser)
    return PlacementPolicy(verb, name, options, or_replace, exists)


def placement_options(parser: TiDBParser) -> tuple[TableOption, ...]:
    options = [placement_option(parser)]
    while not parser.at_end():
        parser.accept(",")
        options.append(placement_option(parser))
    return tuple(options)


def placement_option(parser: TiDBParser) -> TableOption:
    word = parser.word()
    if word not in (*COUNTS, *TEXTS):
        parser.unexpected(f"one of {', '.join((*TEXTS, *COUNTS))}", (*COUNTS, *TEXTS))
    parser.take()
    parser.accept("=")
    if word in TEXTS:
        return TableOption(word, parser.string(), quoted=True)
    token = parser.next_token()
    count = parser.integer()
    if word == "FOLLOWERS" and count == 0:
        parser.fail("FOLLOWERS must be positive", token)
    return TableOption(word, str(count))


def resource_group(parser: TiDBParser, verb: str) -> ResourceGroup:
    """What follows CREATE, ALTER or DROP RESOURCE GROUP."""
    exists = parser.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = parser.take().lower() if parser.word() == "DEFAULT" else parser.free_name("the name of a resource group")
    return ResourceGroup(verb, name, () if verb == "DROP" else group_options(parser), exists)


def group_options(parser: TiDBParser) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    while True:
        token = parser.next_token()
        name, value = group_option(parser)
        if name in options:
            parser.fail(f"{name} is said twice", token)
        options[name] = value
        if parser.at_end():
            return tuple(options.items())
        parser.accept(",")


def group_option(parser: TiDBParser) -> tuple[str, str]:
    """Name and value of an option, as TiDB writes them back."""
    word = parser.word()
    if word not in GROUP_OPTIONS:
        parser.unexpected(f"one of {', '.join(GROUP_OPTIONS)}", GROUP_OPTIONS)
    parser.take()
    return word, GROUP_OPTIONS[word](parser)


def request_units(parser: TiDBParser) -> str:
    parser.accept("=")
    return "UNLIMITED" if parser.accept("UNLIMITED") else str(parser.integer("a number or UNLIMITED"))


def priority(parser: TiDBParser) -> str:
    return one_of(parser, PRIORITIES)


def burstable(parser: TiDBParser) -> str:
    said = parser.accept("=")
    if not said and parser.word() not in BURSTS:
        return "TRUE"
    return BURSTS[one_of(parser, tuple(BURSTS))]


GROUP_OPTIONS = MappingProxyType({
    "RU_PER_SEC": request_units,
    "PRIORITY": priority,
    "BURSTABLE": burstable,
    "QUERY_LIMIT": query_limit,
    "BACKGROUND": background,
})
