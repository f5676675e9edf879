"""Keys and constraints as TiDB writes them back.

One law: options come in TiDB's order, whatever the statement's (TiDB: pkg/parser/ast/ddl.go, Constraint.Restore and
IndexOption.Restore).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from simulator.tidb.restore.checks import restored_check, restored_part, restored_references
from simulator.tidb.restore.columns import restored_clustering
from simulator.tidb.restore.names import feature
from simulator.tidb.restore.restoring import quoted, string
from simulator.tidb.syntax.definitions import KeyOptions, KeySyntax

__all__ = ["restored_key", "restored_key_options", "restored_part", "restored_references"]

WORDS = MappingProxyType({
    "primary": "PRIMARY KEY",
    "unique": "UNIQUE",
    "key": "INDEX",
    "fulltext": "FULLTEXT",
    "vector": "VECTOR INDEX",
    "columnar": "COLUMNAR INDEX",
})


def restored_key(key: KeySyntax) -> str:
    """A key or constraint, as it stands beside the columns or behind ADD."""
    if key.check:
        return restored_check(key.check)
    parts = f"({', '.join(map(restored_part, key.parts))})"
    exists = "IF NOT EXISTS" if key.if_not_exists else ""
    if key.references:
        name = f"{quoted(key.name)} " if key.name else ""
        return f"CONSTRAINT {name}FOREIGN KEY {exists and exists + ' '}{parts} {restored_references(key.references)}"
    name = f" {quoted(key.name)}" if key.name else ""
    options = restored_key_options(key.options)
    return f"{WORDS[key.kind]}{exists and ' ' + exists}{name}{parts}{options and ' ' + options}"


def restored_key_options(options: KeyOptions) -> str:
    """The options, a blank between them; empty where there are none."""
    return " ".join(option_texts(options))


def option_texts(options: KeyOptions) -> Iterator[str]:
    if options.clustered is not None:
        yield restored_clustering(options.clustered)
    if options.key_block_size:
        yield f"KEY_BLOCK_SIZE={options.key_block_size}"
    if options.using:
        yield f"USING {options.using}"
    if options.parser:
        yield f"WITH PARSER {quoted(options.parser)}"
    if options.comment:
        yield f"COMMENT {string(options.comment)}"
    if options.on_demand:
        yield "ADD_COLUMNAR_REPLICA_ON_DEMAND"
    if options.scope == "GLOBAL":
        yield feature("GLOBAL", "global_index")
    yield from late_option_texts(options)


def late_option_texts(options: KeyOptions) -> Iterator[str]:
    if options.visible is not None:
        yield "VISIBLE" if options.visible else "INVISIBLE"
    if options.pre_split:
        yield feature(f"PRE_SPLIT_REGIONS = {options.pre_split}", "pre_split")
    if options.secondary_engine_attribute:
        yield f"SECONDARY_ENGINE_ATTRIBUTE = {string(options.secondary_engine_attribute)}"
    if options.condition:
        yield f"WHERE {options.condition.restored}"
