"""Writes the specs that touch no column and no partition, and says which specs are written at all.

One law: of table options, TTL_ENABLE comes only from TTL, and is OFF (TiDB: RestoreWithTTLEnableOff).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.restore.alter_partitions import is_attributes, is_placement
from simulator.tidb.restore.names import column, feature, words
from simulator.tidb.restore.options import restored_option, sent_options
from simulator.tidb.restore.restoring import string
from simulator.tidb.syntax.alter import (
    Attributes,
    Clause,
    ConvertCharset,
    OrderBy,
    RemoveTtl,
    SetOptions,
    Spec,
    TiflashReplica,
)
from simulator.tidb.syntax.alter_partitions import PartitionOptions
from simulator.tidb.syntax.definitions import KeyPart
from simulator.tidb.syntax.tables import TableOption


def sent(spec: Spec) -> Spec | None:
    """The spec as it is written; None where it is not."""
    if isinstance(spec, Attributes):
        return None
    if isinstance(spec, PartitionOptions):
        return None if is_placement(spec) or is_attributes(spec) else spec
    if not isinstance(spec, SetOptions):
        return spec
    if all(option.name == "PLACEMENT POLICY" for option in spec.options):
        return None
    options = sent_options(spec.options)
    return replace(spec, options=options) if options else None


def set_options(spec: SetOptions) -> str:
    """Table options; those beginning with the charset have forms of their own (TiDB: AlterTableSpec.Restore)."""
    first, *others = spec.options
    if first.name == "CHARSET":
        if len(others) == 1 and others[0].name == "COLLATE":
            return f"CHARACTER SET {charset(first)} COLLATE {others[0].value.upper()}"
        if first.default:
            return "CHARACTER SET DEFAULT"
    return " ".join(map(restored_option, spec.options))


def charset(option: TableOption) -> str:
    return "DEFAULT" if option.default else option.value.upper()


def convert_charset(spec: ConvertCharset) -> str:
    collate = f"COLLATE {spec.collation.upper()}" if spec.collation else ""
    return words("CONVERT TO CHARACTER SET", spec.charset.upper() or "DEFAULT", collate)


def remove_ttl(spec: RemoveTtl) -> str:
    return feature("REMOVE TTL", "ttl")


def tiflash_replica(spec: TiflashReplica) -> str:
    labels = f"LOCATION LABELS {', '.join(map(string, spec.labels))}" if spec.labels else ""
    return words("SET TIFLASH REPLICA", str(spec.count), labels)


def order_by(spec: OrderBy) -> str:
    return "ORDER BY " + ",".join(map(order_item, spec.parts))


def order_item(part: KeyPart) -> str:
    return words(part.restored or column(part.column), "DESC" if part.descending else "")


def clause(spec: Clause) -> str:
    if spec.words == "FORCE":
        return "FORCE /* AlterTableForce is not supported */ "
    if spec.words in ("ALGORITHM", "LOCK"):
        return f"{spec.words} = {spec.value}"
    return f"STATS_OPTIONS={spec.value}" if spec.words == "STATS_OPTIONS" else words(spec.words, spec.value)
