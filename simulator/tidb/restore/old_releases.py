"""Keep the placement and TTL options that later releases drop; leave out parentheses that they write.

An option is kept by replacing it with one whose name and value are its restored text.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.restore.expressions import feature_comment, quote_name, quote_string
from simulator.tidb.restore.tables import restore_option

Keep = Callable[[syntax.TableOption], syntax.TableOption]
TIME_TO_LIVE = ("TTL", "TTL_ENABLE")


def keep_dropped_options(statement: syntax.Statement, placement: bool, time_to_live: bool) -> syntax.Statement:
    """Return the statement with verbatim options of placement and TTL, which are never dropped."""

    def keep(option: syntax.TableOption) -> syntax.TableOption:
        if placement and option.name == "PLACEMENT POLICY":
            return verbatim_option(feature_comment(restore_placement_policy(option), "placement"))
        return verbatim_option(restore_option(option)) if time_to_live and option.name in TIME_TO_LIVE else option

    return keep_in_statement(statement, keep, placement)


def verbatim_option(text: str) -> syntax.TableOption:
    """Return an option that is restored as the text, which must contain ` = `."""
    name, _, value = text.partition(" = ")
    return syntax.TableOption(name, value)


def restore_placement_policy(option: syntax.TableOption) -> str:
    return f"PLACEMENT POLICY = {quote_name(option.value or 'DEFAULT')}"


def keep_in_statement(statement: syntax.Statement, keep: Keep, placement: bool) -> syntax.Statement:
    match statement:
        case syntax.CreateTable():
            return keep_in_table(statement, keep)
        case syntax.RepairTable(_, definition):
            return replace(statement, definition=keep_in_table(definition, keep))
        case syntax.AlterTable(_, specs):
            return replace(statement, specs=tuple(keep_in_spec(spec, keep, placement) for spec in specs))
        case syntax.CreateDatabase(_, options) | syntax.AlterDatabase(_, options):
            return replace(statement, options=tuple(map(keep, options)))
    return statement


def keep_in_table(statement: syntax.CreateTable, keep: Keep) -> syntax.CreateTable:
    partitioning = statement.partitioning and keep_in_partitioning(statement.partitioning, keep)
    return replace(statement, options=tuple(map(keep, statement.options)), partitioning=partitioning)


def keep_in_spec(spec: syntax.Spec, keep: Keep, placement: bool) -> syntax.Spec:
    if isinstance(spec, syntax.SetOptions):
        return replace(spec, options=tuple(map(keep, spec.options)))
    if isinstance(spec, (syntax.AddPartitions, syntax.ReorganizePartition)):
        return replace(spec, definitions=keep_in_definitions(spec.definitions, keep))
    if isinstance(spec, syntax.PartitionBy):
        return syntax.PartitionBy(keep_in_partitioning(spec.partitioning, keep))
    if placement and isinstance(spec, syntax.Attributes):
        return syntax.Clause(restore_attributes(spec.value))
    if placement and isinstance(spec, syntax.PartitionOptions):
        return syntax.Clause(restore_partition_options(spec))
    return spec


def restore_attributes(value: str | None) -> str:
    return f"ATTRIBUTES={'DEFAULT' if value is None else quote_string(value)}"


def keep_in_partitioning(partitioning: syntax.PartitionClause, keep: Keep) -> syntax.PartitionClause:
    return replace(partitioning, definitions=keep_in_definitions(partitioning.definitions, keep))


def keep_in_definitions(
    definitions: tuple[syntax.PartitionDefinition, ...], keep: Keep
) -> tuple[syntax.PartitionDefinition, ...]:
    def kept(partition: syntax.PartitionDefinition) -> syntax.PartitionDefinition:
        subpartitions = keep_in_definitions(partition.subpartitions, keep)
        return replace(partition, options=tuple(map(keep, partition.options)), subpartitions=subpartitions)

    return tuple(map(kept, definitions))


def restore_partition_options(spec: syntax.PartitionOptions) -> str:
    """Restore options in one comment of the feature, and attributes without a comment."""
    head = f"PARTITION {quote_name(spec.partition)}"
    for option in spec.options:
        if option.name == "ATTRIBUTES":
            return f"{head} {restore_attributes(None if option.default else option.value)}"
    writers = {"PLACEMENT POLICY": restore_placement_policy}
    options = " ".join(writers.get(option.name, restore_option)(option) for option in spec.options)
    return feature_comment(f"{head} {options}", "placement")


def without_default_parentheses(statement: syntax.Statement) -> syntax.Statement:
    """Return the statement without parentheses around functions as defaults of columns."""
    match statement:
        case syntax.CreateTable(columns=columns):
            return replace(statement, columns=tuple(map(_with_bare_default, columns)))
        case syntax.AlterTable(specs=specs):
            return replace(statement, specs=tuple(map(_with_bare_defaults, specs)))
    return statement


def _with_bare_defaults(spec: syntax.Spec) -> syntax.Spec:
    match spec:
        case syntax.AddColumns(columns=columns):
            return replace(spec, columns=tuple(map(_with_bare_default, columns)))
        case syntax.ModifyColumn(column=column) | syntax.ChangeColumn(column=column):
            return replace(spec, column=_with_bare_default(column))
    return spec


def _with_bare_default(column: syntax.ColumnDefinition) -> syntax.ColumnDefinition:
    return replace(
        column,
        options=tuple(
            replace(option, default=replace(option.default, restored=option.default.restored[1:-1]))
            if option.default and option.default.kind == "expression" and option.default.restored.startswith("(")
            else option
            for option in column.options
        ),
    )
