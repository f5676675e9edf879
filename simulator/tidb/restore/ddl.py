"""Restore DDL statements, as TiDB does for TiCDC: with keywords in upper case, quoted names, and features as comments.

TiDB does not write RESTRICT, CASCADE, LOCK and ALGORITHM with default values, and WITH CASCADED CHECK OPTION. A
statement on a placement policy or resource group is one comment. Source: TiDB pkg/parser/ast/ddl.go, under the flags of
tiflow cdc/owner/ddl_sink.go, addSpecialComment.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.restore import (
    feature_comment,
    if_exists,
    if_not_exists,
    join_words,
    quote_literal,
    quote_name,
    quote_string,
    restore_column,
    restore_column_name,
    restore_key,
    restore_key_options,
    restore_part,
    restore_table_name,
    restore_table_names,
)
from simulator.tidb.restore.tables import (
    TEMPORARY,
    is_placement,
    keep_dropped_options,
    restore_definition,
    restore_option,
    restore_partitioning,
    restore_table,
    sent_options,
    without_default_parentheses,
)


def restore_statement(
    statement: syntax.Statement, placement: bool = False, ttl_off: bool = True, default_parentheses: bool = True
) -> str:
    """Return the text that TiCDC sends, which is empty if only dropped placement options would remain.

    `placement`: whether placement options are kept (tiflow before 6.0). `ttl_off`: whether TTL is followed by TTL_ENABLE
    = 'OFF', and another TTL_ENABLE is dropped (tiflow from 7.0). `default_parentheses`: whether a function as a default
    stands in parentheses.
    """
    if not default_parentheses:
        statement = without_default_parentheses(statement)
    if placement and isinstance(statement, syntax.PlacementPolicy):
        options = (f"{option.name} = {restore_value(option)}" for option in statement.options)
        return feature_comment(join_words(restore_policy_head(statement), *options), "placement")
    if placement and isinstance(statement, syntax.AlterDatabase) and is_placement(statement.options):
        policies = (f"PLACEMENT POLICY = {quote_name(option.value)}" for option in statement.options)
        return feature_comment(join_words(restore_alter_database_head(statement), *policies), "placement")
    if placement and isinstance(statement, syntax.AlterTable) and not statement.specs:
        return f"ALTER TABLE {restore_table_name(statement.table)}"
    if placement or not ttl_off:
        statement = keep_dropped_options(statement, placement, not ttl_off)
    return restore(statement)


def restore(statement: syntax.Statement) -> str:
    match statement:
        case syntax.CreateTable():
            return restore_table(statement)
        case syntax.AlterTable():
            return restore_alter_table(statement)
        case syntax.CreateDatabase(name, options):
            head = join_words("CREATE DATABASE", if_not_exists(statement.if_not_exists), quote_name(name))
            return head + restore_database_options(options)
        case syntax.AlterDatabase(_, options):
            if is_placement(options):
                return ""
            return restore_alter_database_head(statement) + restore_database_options(options)
        case syntax.DropDatabase(name):
            return join_words("DROP DATABASE", if_exists(statement.if_exists), quote_name(name))
        case syntax.FlashbackDatabase(name, new_name):
            return join_words("FLASHBACK DATABASE", quote_name(name), restore_to(new_name))
        case syntax.DropTable(tables):
            kind = join_words("DROP", TEMPORARY[statement.temporary], "TABLE")
            return join_words(kind, if_exists(statement.if_exists), restore_table_names(tables))
        case syntax.TruncateTable(table):
            return f"TRUNCATE TABLE {restore_table_name(table)}"
        case syntax.RenameTable(pairs):
            renames = (f"{restore_table_name(old)} TO {restore_table_name(new)}" for old, new in pairs)
            return f"RENAME TABLE {', '.join(renames)}"
        case syntax.RecoverTable(None, job):
            return f"RECOVER TABLE BY JOB {job}"
        case syntax.RecoverTable(syntax.TableName() as table, number=number):
            return join_words("RECOVER TABLE", restore_table_name(table), str(number or ""))
        case syntax.FlashbackTable(table, new_name):
            return join_words("FLASHBACK TABLE", restore_table_name(table), restore_to(new_name))
        case syntax.FlashbackCluster():
            return restore_flashback_cluster(statement)
        case syntax.RepairTable(table, definition):
            return f"ADMIN REPAIR TABLE {restore_table_name(table)} {restore_table(definition)}"
        case syntax.LockTables(locks):
            return "LOCK TABLES " + ", ".join(f"{restore_table_name(name)} {kind}" for name, kind in locks)
        case syntax.UnlockTables(tables):
            return f"ADMIN CLEANUP TABLE LOCK {restore_table_names(tables)}" if tables else "UNLOCK TABLES"
        case syntax.CreateIndex():
            return restore_create_index(statement)
        case syntax.DropIndex(table, name):
            # IF EXISTS is a comment of TiDB, without a blank before the name.
            exists = feature_comment("IF EXISTS ") if statement.if_exists else ""
            tail = restore_lock_and_algorithm(statement)
            return join_words(f"DROP INDEX {exists}{quote_name(name)} ON", restore_table_name(table), tail)
        case syntax.CreateView():
            return restore_create_view(statement)
        case syntax.DropView(views):
            return join_words("DROP VIEW", if_exists(statement.if_exists), restore_table_names(views))
        case syntax.CreateSequence(sequence, options, table_options):
            head = join_words("CREATE SEQUENCE", if_not_exists(statement.if_not_exists), restore_table_name(sequence))
            return join_words(head, restore_sequence_options(options)) + "".join(
                f" {restore_option(option)}" for option in table_options
            )
        case syntax.AlterSequence(sequence, options):
            head = join_words("ALTER SEQUENCE", if_exists(statement.if_exists), restore_table_name(sequence))
            return join_words(head, restore_sequence_options(options))
        case syntax.DropSequence(sequences):
            return join_words("DROP SEQUENCE", if_exists(statement.if_exists), restore_table_names(sequences))
        case syntax.PlacementPolicy(verb, _, options):
            # ALTER is empty. Of each option of CREATE, the blank before it remains.
            text = feature_comment(restore_policy_head(statement) + " " * len(options), "placement")
            return "" if verb == "ALTER" else text
        case syntax.ResourceGroup(verb, name):
            text = join_words(verb, "RESOURCE GROUP", restore_existence(statement), quote_name(name))
            return feature_comment(text, "resource_group")
    raise TypeError(f"{type(statement).__name__} is no DDL statement")


def restore_to(new_name: str) -> str:
    return f"TO {quote_name(new_name)}" if new_name else ""


def restore_value(option: syntax.TableOption) -> str:
    return quote_string(option.value) if option.quoted else option.value


def restore_alter_database_head(statement: syntax.AlterDatabase) -> str:
    return join_words("ALTER DATABASE", quote_name(statement.name) if statement.name else "")


def restore_database_options(options: Iterable[syntax.TableOption]) -> str:
    return "".join(f" {restore_database_option(option)}" for option in options)


def restore_database_option(option: syntax.TableOption) -> str:
    """Restore an option. PLACEMENT POLICY is empty."""
    if option.name == "PLACEMENT POLICY":
        return ""
    if option.name == "TIFLASH REPLICA":
        return f"SET TIFLASH REPLICA {option.value}"
    return f"{'CHARACTER SET' if option.name == 'CHARSET' else option.name} = {restore_value(option)}"


def restore_flashback_cluster(statement: syntax.FlashbackCluster) -> str:
    what = "CLUSTER"
    if statement.tables:
        what = f"TABLE {restore_table_names(statement.tables)}"
    elif statement.database:
        what = f"DATABASE {quote_name(statement.database)}"
    moment = f"TSO {statement.tso}" if statement.tso else f"TIMESTAMP {quote_literal(statement.timestamp)}"
    return f"FLASHBACK {what} TO {moment}"


def restore_create_index(statement: syntax.CreateIndex) -> str:
    key = statement.key
    kind = "" if key.kind == "key" else key.kind.upper()
    head = join_words("CREATE", kind, "INDEX", if_not_exists(key.if_not_exists), quote_name(key.name), "ON")
    parts = f"({', '.join(map(restore_part, key.parts))})"
    tail = join_words(*restore_key_options(key.options), restore_lock_and_algorithm(statement))
    return join_words(head, restore_table_name(statement.table), parts, tail)


def restore_lock_and_algorithm(statement: syntax.CreateIndex | syntax.DropIndex) -> str:
    settings = (("ALGORITHM", statement.algorithm), ("LOCK", statement.lock))
    return " ".join(f"{name} = {value}" for name, value in settings if value not in ("", "DEFAULT"))


def restore_create_view(statement: syntax.CreateView) -> str:
    definer = "CURRENT_USER" if statement.definer is None else "@".join(map(quote_name, statement.definer))
    return join_words(
        "CREATE",
        "OR REPLACE" if statement.or_replace else "",
        f"ALGORITHM = {statement.algorithm} DEFINER = {definer} SQL SECURITY {statement.security} VIEW",
        restore_table_name(statement.view),
        f"({','.join(map(quote_name, statement.columns))})" if statement.columns else "",
        f"AS {statement.query.restored}",
        "" if statement.check_option == "CASCADED" else f"WITH {statement.check_option} CHECK OPTION",
    )


def restore_sequence_options(options: Iterable[syntax.SequenceOption]) -> str:
    return " ".join(option.name if option.value is None else f"{option.name} {option.value}" for option in options)


def restore_policy_head(statement: syntax.PlacementPolicy) -> str:
    verb = join_words(statement.verb, "OR REPLACE" if statement.or_replace else "", "PLACEMENT POLICY")
    return join_words(verb, restore_existence(statement), quote_name(statement.name))


def restore_existence(statement: syntax.PlacementPolicy | syntax.ResourceGroup) -> str:
    return (if_not_exists if statement.verb == "CREATE" else if_exists)(statement.exists)


# -- ALTER TABLE ----------------------------------------------------------------------------------------------------------


KEYS = {"index": "INDEX", "foreign": "FOREIGN KEY", "check": "CHECK"}
TABLESPACE_CLAUSES = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


def restore_alter_table(statement: syntax.AlterTable) -> str:
    """Restore the statement. The result is empty without specs, or with only the placement of partitions."""
    if all(isinstance(spec, syntax.PartitionOptions) and is_placement(spec.options) for spec in statement.specs):
        return ""
    text = f"ALTER TABLE {restore_table_name(statement.table)}"
    specs = [spec for spec in map(sent_spec, statement.specs) if spec is not None]
    for index, spec in enumerate(specs):
        text += (", " if index and not has_no_comma(spec) else " ") + restore_spec(spec)
    return text


def sent_spec(spec: syntax.Spec) -> syntax.Spec | None:
    """Return the spec as TiCDC sends it, or None if TiCDC does not send it."""
    match spec:
        case syntax.Attributes():
            return None
        case syntax.PartitionOptions(_, options):
            dropped = is_placement(options) or any(option.name == "ATTRIBUTES" for option in options)
            return None if dropped else spec
        case syntax.SetOptions(options):
            sent = () if is_placement(options) else sent_options(options)
            return replace(spec, options=sent) if sent else None
    return spec


def has_no_comma(spec: syntax.Spec) -> bool:
    """Whether TiDB writes no comma before the spec."""
    return isinstance(spec, (syntax.PartitionBy, syntax.RemovePartitioning)) or (
        isinstance(spec, syntax.Clause) and spec.words in TABLESPACE_CLAUSES
    )


def restore_spec(spec: syntax.Spec) -> str:
    match spec:
        case syntax.AddColumns(columns, place, keys):
            elements = (*map(restore_column, columns), *map(restore_key, keys))
            text = f"({', '.join(elements)})" if spec.parenthesised else elements[0]
            position = "" if spec.parenthesised else restore_position(place)
            return join_words("ADD COLUMN", if_not_exists(spec.if_not_exists), text, position)
        case syntax.DropColumn(name):
            return join_words("DROP COLUMN", if_exists(spec.if_exists), restore_column_name(name, spec.qualifier))
        case syntax.ModifyColumn(column, place):
            position = restore_position(place)
            return join_words("MODIFY COLUMN", if_exists(spec.if_exists), restore_column(column), position)
        case syntax.ChangeColumn(old, column, place):
            change = join_words(restore_column_name(old, spec.qualifier), restore_column(column))
            return join_words("CHANGE COLUMN", if_exists(spec.if_exists), change, restore_position(place))
        case syntax.RenameColumn(old, new):
            return f"RENAME COLUMN {quote_name(old)} TO {quote_name(new)}"
        case syntax.AlterDefault(name, default):
            change = f"SET DEFAULT {restore_default(default)}" if default else "DROP DEFAULT"
            return f"ALTER COLUMN {restore_column_name(name, spec.qualifier)} {change}"
        case syntax.AddKey(key):
            return f"ADD {restore_key(key)}"
        case syntax.DropKey("primary"):
            return "DROP PRIMARY KEY"
        case syntax.DropKey(kind, name):
            return join_words("DROP", KEYS[kind], if_exists(spec.if_exists), quote_name(name))
        case syntax.RenameIndex(old, new):
            return f"RENAME INDEX {quote_name(old)} TO {quote_name(new)}"
        case syntax.IndexVisibility(name, visible):
            return f"ALTER INDEX {quote_name(name)} {'VISIBLE' if visible else 'INVISIBLE'}"
        case syntax.AlterCheck(name, enforced):
            return f"ALTER CHECK {quote_name(name)} {'ENFORCED' if enforced else 'NOT ENFORCED'}"
        case syntax.RenameTo(table):
            return f"RENAME AS {restore_table_name(table)}"
        case syntax.SetOptions(options):
            return restore_set_options(options)
        case syntax.ConvertCharset(charset, collation):
            collate = f"COLLATE {collation.upper()}" if collation else ""
            return join_words("CONVERT TO CHARACTER SET", charset.upper() or "DEFAULT", collate)
        case syntax.Cache(on):
            return "CACHE" if on else "NOCACHE"
        case syntax.RemoveTtl():
            return feature_comment("REMOVE TTL", "ttl")
        case syntax.TiflashReplica(count, labels):
            location = f"LOCATION LABELS {', '.join(map(quote_string, labels))}" if labels else ""
            return join_words("SET TIFLASH REPLICA", str(count), location)
        case syntax.OrderBy(parts):
            return "ORDER BY " + ",".join(map(restore_order_item, parts))
        case syntax.Clause("FORCE"):
            return "FORCE /* AlterTableForce is not supported */ "
        case syntax.Clause("ALGORITHM" | "LOCK" as name, value):
            return f"{name} = {value}"
        case syntax.Clause("STATS_OPTIONS", value):
            return f"STATS_OPTIONS={value}"
        case syntax.Clause(words, value):
            return join_words(words, value)
    return restore_partition_spec(spec)


def restore_partition_spec(spec: syntax.Spec) -> str:
    match spec:
        case syntax.AddPartitions(definitions, count):
            head = join_words("ADD PARTITION", if_not_exists(spec.if_not_exists), binlog(spec.no_write_to_binlog))
            return join_words(head, restore_definitions(definitions), f"PARTITIONS {count}" if count else "")
        case syntax.IntervalPartitionSpec(verb, bound):  # TiDB does not write the IF EXISTS of FIRST.
            return join_words(f"{verb} PARTITION LESS THAN ({bound.restored})", binlog(spec.no_write_to_binlog))
        case syntax.PartitionAction(verb, names):
            head = join_words(verb, "PARTITION", if_exists(spec.if_exists), binlog(spec.no_write_to_binlog))
            return join_words(head, restore_names_or_all(names), "TABLESPACE" if verb in ("IMPORT", "DISCARD") else "")
        case syntax.CoalescePartition(count):
            return join_words("COALESCE PARTITION", binlog(spec.no_write_to_binlog), str(count))
        case syntax.ReorganizePartition(names, definitions):
            into = join_words(restore_names_or_all(names), "INTO", restore_definitions(definitions)) if names else ""
            return join_words("REORGANIZE PARTITION", binlog(spec.no_write_to_binlog), into)
        case syntax.ExchangePartition(name, table, validation):
            head = f"EXCHANGE PARTITION {quote_name(name)} WITH TABLE {restore_table_name(table)}"
            return head if validation else f"{head} WITHOUT VALIDATION"
        case syntax.PartitionBy(partitioning):
            return restore_partitioning(partitioning)
        case syntax.RemovePartitioning():
            return "REMOVE PARTITIONING"
        case syntax.PartitionOptions(name, options):
            settings = " ".join(map(restore_option, options))
            return feature_comment(f"PARTITION {quote_name(name)} {settings}", "placement")
    raise TypeError(f"{type(spec).__name__} is no spec of ALTER TABLE that TiCDC sends")


def restore_position(where: syntax.ColumnPosition | None) -> str:
    if where is None:
        return ""
    return f"AFTER {restore_column_name(where.after, where.qualifier)}" if where.after else "FIRST"


def restore_default(default: syntax.ColumnDefault) -> str:
    """Restore a literal as it is, and an expression or a signed number in parentheses."""
    literal = default.kind != "expression" and default.restored[:1] not in ("-", "+")
    return default.restored if literal else f"({default.restored})"


def binlog(not_written: bool) -> str:
    return "NO_WRITE_TO_BINLOG" if not_written else ""


def restore_names_or_all(names: tuple[str, ...]) -> str:
    return ",".join(map(quote_name, names)) or "ALL"


def restore_definitions(definitions: tuple[syntax.PartitionDefinition, ...]) -> str:
    return f"({', '.join(map(restore_definition, definitions))})" if definitions else ""


def restore_set_options(options: tuple[syntax.TableOption, ...]) -> str:
    """Restore table options. Options that begin with CHARSET have other forms (TiDB: AlterTableSpec.Restore)."""
    first, *others = options
    if first.name == "CHARSET" and [option.name for option in others] == ["COLLATE"]:
        charset = "DEFAULT" if first.default else first.value.upper()
        return f"CHARACTER SET {charset} COLLATE {others[0].value.upper()}"
    if first.name == "CHARSET" and first.default:
        return "CHARACTER SET DEFAULT"
    return " ".join(map(restore_option, options))


def restore_order_item(part: syntax.KeyPart) -> str:
    return join_words(part.restored or restore_column_name(part.column), "DESC" if part.descending else "")
