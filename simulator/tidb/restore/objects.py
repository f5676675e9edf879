"""Writes the statements about what is no table: views, sequences, placement policies and resource groups.

One law: everything a view is by default is written out, but WITH CASCADED CHECK OPTION; a statement on a policy or a
group is one comment as a whole, and of placement nothing stays but names.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.restore.names import feature, quoted, string, table, tables, words
from simulator.tidb.restore.tables import restored_option


def create_view(statement: syntax.CreateView) -> str:
    columns = f"({','.join(map(quoted, statement.columns))})" if statement.columns else ""
    check = "" if statement.check_option == "CASCADED" else f"WITH {statement.check_option} CHECK OPTION"
    return words(
        "CREATE",
        "OR REPLACE" if statement.or_replace else "",
        f"ALGORITHM = {statement.algorithm}",
        f"DEFINER = {statement.definer}",
        f"SQL SECURITY {statement.security}",
        "VIEW",
        table(statement.view),
        columns,
        "AS",
        statement.query.restored,
        check,
    )


def drop_view(statement: syntax.DropView) -> str:
    return words("DROP VIEW", "IF EXISTS" if statement.if_exists else "", tables(statement.views))


def create_sequence(statement: syntax.CreateSequence) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    table_options = "".join(f" {restored_option(option)}" for option in statement.table_options)
    head = words("CREATE SEQUENCE", exists, table(statement.sequence), sequence_options(statement.options))
    return head + table_options


def alter_sequence(statement: syntax.AlterSequence) -> str:
    exists = "IF EXISTS" if statement.if_exists else ""
    return words("ALTER SEQUENCE", exists, table(statement.sequence), sequence_options(statement.options))


def drop_sequence(statement: syntax.DropSequence) -> str:
    return words("DROP SEQUENCE", "IF EXISTS" if statement.if_exists else "", tables(statement.sequences))


def sequence_options(options: tuple[syntax.SequenceOption, ...]) -> str:
    texts = (option.name if option.value is None else f"{option.name} {option.value}" for option in options)
    return " ".join(texts)


def placement_policy(statement: syntax.PlacementPolicy) -> str:
    """Nothing for ALTER; each option of CREATE leaves the blank before it."""
    if statement.verb == "ALTER":
        return ""
    return feature(policy_head(statement) + " " * len(statement.options), "placement")


def placement_policy_of_old_releases(statement: syntax.PlacementPolicy) -> str:
    """All of it, as releases before 6.0 send it."""
    return feature(words(policy_head(statement), *map(policy_option, statement.options)), "placement")


def policy_head(statement: syntax.PlacementPolicy) -> str:
    replace = "OR REPLACE" if statement.or_replace else ""
    return words(statement.verb, replace, "PLACEMENT POLICY", if_exists(statement), quoted(statement.name))


def policy_option(option: syntax.TableOption) -> str:
    return f"{option.name} = {string(option.value) if option.quoted else option.value}"


def resource_group(statement: syntax.ResourceGroup) -> str:
    options = ", ".join(f"{name} = {value}" for name, value in statement.options)
    name = quoted(statement.name)
    return feature(words(statement.verb, "RESOURCE GROUP", if_exists(statement), name, options), "resource_group")


def if_exists(statement: syntax.PlacementPolicy | syntax.ResourceGroup) -> str:
    if not statement.exists:
        return ""
    return "IF NOT EXISTS" if statement.verb == "CREATE" else "IF EXISTS"
