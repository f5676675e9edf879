"""Statements of old releases, which keep placement and the switch of TTL: what later ones drop, written out beforehand.

One law: a kept option is one whose name and value are its text already, so that it is written as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.tidb.restore.names import feature, quoted, string
from simulator.tidb.restore.tables import restored_option
from simulator.tidb.syntax.alter import (
    AddPartitions,
    Attributes,
    Clause,
    PartitionBy,
    PartitionOptions,
    ReorganizePartition,
    SetOptions,
    Spec,
)
from simulator.tidb.syntax.statements import AlterDatabase, AlterTable, CreateDatabase, RepairTable, Statement
from simulator.tidb.syntax.tables import CreateTable, PartitionClause, PartitionDefinition, TableOption

Keep = Callable[[TableOption], TableOption]
TIME_TO_LIVE = ("TTL", "TTL_ENABLE")


def with_dropped_options(statement: Statement, placement: bool, time_to_live: bool) -> Statement:
    """The statement, its options of placement and of time to live under names that no writer drops."""

    def keep(option: TableOption) -> TableOption:
        if placement and option.name == "PLACEMENT POLICY":
            return written(feature(placement_policy(option), "placement"))
        return written(restored_option(option)) if time_to_live and option.name in TIME_TO_LIVE else option

    return in_statement(statement, keep, placement)


def written(text: str) -> TableOption:
    """An option that is written as the text, which has a ` = `."""
    name, _, value = text.partition(" = ")
    return TableOption(name, value)


def placement_policy(option: TableOption) -> str:
    return f"PLACEMENT POLICY = {quoted(option.value or 'DEFAULT')}"


def in_statement(statement: Statement, keep: Keep, placement: bool) -> Statement:
    if isinstance(statement, CreateTable):
        partitioning = statement.partitioning and in_partitioning(statement.partitioning, keep)
        return replace(statement, options=tuple(map(keep, statement.options)), partitioning=partitioning)
    if isinstance(statement, RepairTable):
        definition = in_statement(statement.definition, keep, placement)
        assert isinstance(definition, CreateTable)
        return replace(statement, definition=definition)
    if isinstance(statement, AlterTable):
        return replace(statement, specs=tuple(in_spec(spec, keep, placement) for spec in statement.specs))
    if isinstance(statement, (CreateDatabase, AlterDatabase)):
        return replace(statement, options=tuple(map(keep, statement.options)))
    return statement


def in_spec(spec: Spec, keep: Keep, placement: bool) -> Spec:
    if isinstance(spec, SetOptions):
        return replace(spec, options=tuple(map(keep, spec.options)))
    if isinstance(spec, (AddPartitions, ReorganizePartition)):
        return replace(spec, definitions=in_definitions(spec.definitions, keep))
    if isinstance(spec, PartitionBy):
        return PartitionBy(in_partitioning(spec.partitioning, keep))
    if placement and isinstance(spec, Attributes):
        return Clause(attributes(spec.value))
    if placement and isinstance(spec, PartitionOptions):
        return Clause(partition_options(spec))
    return spec


def attributes(value: str | None) -> str:
    return f"ATTRIBUTES={'DEFAULT' if value is None else string(value)}"


def in_partitioning(partitioning: PartitionClause, keep: Keep) -> PartitionClause:
    return replace(partitioning, definitions=in_definitions(partitioning.definitions, keep))


def in_definitions(definitions: tuple[PartitionDefinition, ...], keep: Keep) -> tuple[PartitionDefinition, ...]:
    return tuple(
        replace(
            partition,
            options=tuple(map(keep, partition.options)),
            subpartitions=in_definitions(partition.subpartitions, keep),
        )
        for partition in definitions
    )


def partition_options(spec: PartitionOptions) -> str:
    """One comment of the feature, and none inside it; attributes without one."""
    for option in spec.options:
        if option.name == "ATTRIBUTES":
            return f"PARTITION {quoted(spec.partition)} {attributes(None if option.default else option.value)}"
    options = " ".join(
        placement_policy(option) if option.name == "PLACEMENT POLICY" else restored_option(option)
        for option in spec.options
    )
    return feature(f"PARTITION {quoted(spec.partition)} {options}", "placement")
