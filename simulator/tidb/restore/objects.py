"""Restore the statements about views, sequences, placement policies and resource groups.

TiDB writes all defaults of a view except WITH CASCADED CHECK OPTION. A statement on a policy or group is one comment,
and the options of a policy are dropped.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.restore.names import (
    feature_comment,
    join_words,
    quote_name,
    quote_string,
    restore_table_name,
    restore_table_names,
)
from simulator.tidb.restore.tables import restore_option


def restore_create_view(statement: syntax.CreateView) -> str:
    columns = f"({','.join(map(quote_name, statement.columns))})" if statement.columns else ""
    check = "" if statement.check_option == "CASCADED" else f"WITH {statement.check_option} CHECK OPTION"
    return join_words(
        "CREATE",
        "OR REPLACE" if statement.or_replace else "",
        f"ALGORITHM = {statement.algorithm}",
        f"DEFINER = {statement.definer}",
        f"SQL SECURITY {statement.security}",
        "VIEW",
        restore_table_name(statement.view),
        columns,
        "AS",
        statement.query.restored,
        check,
    )


def restore_drop_view(statement: syntax.DropView) -> str:
    return join_words("DROP VIEW", "IF EXISTS" if statement.if_exists else "", restore_table_names(statement.views))


def restore_create_sequence(statement: syntax.CreateSequence) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    table_options = "".join(f" {restore_option(option)}" for option in statement.table_options)
    head = join_words(
        "CREATE SEQUENCE", exists, restore_table_name(statement.sequence), restore_sequence_options(statement.options)
    )
    return head + table_options


def restore_alter_sequence(statement: syntax.AlterSequence) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return join_words(
        "ALTER SEQUENCE", exists, restore_table_name(statement.sequence), restore_sequence_options(statement.options)
    )


def restore_drop_sequence(statement: syntax.DropSequence) -> str:
    return join_words(
        "DROP SEQUENCE", "IF EXISTS" if statement.if_exists else "", restore_table_names(statement.sequences)
    )


def restore_sequence_options(options: tuple[syntax.SequenceOption, ...]) -> str:
    texts = (option.name if option.value is None else f"{option.name} {option.value}" for option in options)
    return " ".join(texts)


def restore_placement_policy(statement: syntax.PlacementPolicy) -> str:
    """Restore CREATE or DROP; ALTER is empty. Of each option of CREATE, the blank before it remains."""
    if statement.verb == "ALTER":
        return ""
    return feature_comment(restore_policy_head(statement) + " " * len(statement.options), "placement")


def restore_kept_placement_policy(statement: syntax.PlacementPolicy) -> str:
    """Restore the whole statement, as releases before 6.0 send it."""
    return feature_comment(
        join_words(restore_policy_head(statement), *map(restore_policy_option, statement.options)), "placement"
    )


def restore_policy_head(statement: syntax.PlacementPolicy) -> str:
    replace = "OR REPLACE" if statement.or_replace else ""
    return join_words(
        statement.verb, replace, "PLACEMENT POLICY", restore_existence(statement), quote_name(statement.name)
    )


def restore_policy_option(option: syntax.TableOption) -> str:
    return f"{option.name} = {quote_string(option.value) if option.quoted else option.value}"


def restore_resource_group(statement: syntax.ResourceGroup) -> str:
    options = ", ".join(f"{name} = {value}" for name, value in statement.options)
    name = quote_name(statement.name)
    return feature_comment(
        join_words(statement.verb, "RESOURCE GROUP", restore_existence(statement), name, options), "resource_group"
    )


def restore_existence(statement: syntax.PlacementPolicy | syntax.ResourceGroup) -> str:
    if not statement.exists:
        return ""
    return "IF NOT EXISTS" if statement.verb == "CREATE" else "IF EXISTS"
