"""Parse CREATE TABLE, and the statements on databases and on whole tables, from the words after their names.

CREATE TABLE has columns and keys, options, partitions, a query, ON COMMIT, in this order.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.parser import expressions
from simulator.tidb.parser.columns import expect_column_end, parse_column
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.keys_and_options import (
    INDEX_TYPES,
    SOFT_DELETE_OPTIONS,
    begins_key,
    begins_option,
    expect_key_end,
    fail_unknown_option,
    parse_key,
    parse_key_options,
    parse_key_part,
    parse_option,
)
from simulator.tidb.parser.partitions import parse_partitioning
from simulator.tidb.parser.query import parse_query
from simulator.tidb.restore import quote_string

OTHER_STATEMENTS = frozenset(("SET", "USE", "DROP", "LOCK", "UNLOCK", "START", "BEGIN", "COMMIT"))
OTHER_OBJECTS = frozenset("DATABASE SCHEMA VIEW OR SEQUENCE PLACEMENT ALGORITHM DEFINER SQL USER ROLE RESOURCE".split())
QUERIES = ("SELECT", "WITH", "TABLE", "VALUES", "(")


Columns = tuple[syntax.ColumnDefinition, ...]
Keys = tuple[syntax.KeyDefinition, ...]


def begins_other_statement(cursor: Cursor) -> bool:
    """Whether the next statement neither creates nor changes a table."""
    if cursor.word() == "CREATE":
        return cursor.word_after() in OTHER_OBJECTS
    return cursor.word() in OTHER_STATEMENTS


def parse_create_table(cursor: Cursor) -> syntax.CreateTable:
    """Parse a whole CREATE TABLE statement; raises SchemaError."""
    start = cursor.next_token()
    temporary = parse_temporary(cursor)
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = cursor.qualified_name("the name of the table")
    token = cursor.next_token()
    like = parse_like(cursor)
    if like:
        table = syntax.CreateTable(*name, (), (), (), at=start.start, like=like, source_at=token.start)
    else:
        table = parse_table_body(cursor, name, start.start)
    deletes = cursor.one_of("DELETE ROWS", "PRESERVE ROWS") == "DELETE ROWS" if cursor.accept("ON COMMIT") else None
    if not cursor.at_end():
        fail_after_table(cursor, table)
    if (deletes is None) is (temporary == "global"):
        cursor.fail("GLOBAL TEMPORARY and ON COMMIT go together; accepted: both or none", start)
    return replace(table, temporary=temporary, if_not_exists=if_not_exists, on_commit_delete=deletes)


def parse_temporary(cursor: Cursor) -> str:
    """Parse `CREATE [[GLOBAL] TEMPORARY] TABLE`, and return `global`, `local` or ""."""
    if cursor.accept("CREATE"):
        kind = "global" if cursor.accept("GLOBAL TEMPORARY") else "local" if cursor.accept("TEMPORARY") else ""
        if cursor.accept("TABLE"):
            return kind
    cursor.unexpected("CREATE TABLE", ("CREATE", "TABLE"))


def parse_like(cursor: Cursor) -> syntax.TableName | None:
    """Parse an optional `LIKE t` or `(LIKE t)`."""
    parenthesised = cursor.accept("( LIKE")
    if not parenthesised and not cursor.accept("LIKE"):
        return None
    name = cursor.qualified_name("a table")
    if parenthesised:
        cursor.expect(")")
    return name


def parse_table_body(cursor: Cursor, name: syntax.TableName, at: int) -> syntax.CreateTable:
    """Parse everything between the table's name and ON COMMIT."""
    columns, keys = parse_table_elements(cursor)
    options = parse_table_options(cursor)
    partitioning = parse_partitioning(cursor) if cursor.accept("PARTITION BY") else None
    token = cursor.next_token()
    on_duplicate, query = parse_source_query(cursor)
    source_at = 0 if cursor.next_token() is token else token.start
    table = syntax.CreateTable(*name, columns, keys, options, partitioning, at)
    return replace(table, query=query, on_duplicate=on_duplicate, source_at=source_at)


def parse_table_elements(cursor: Cursor) -> tuple[Columns, Keys]:
    """Parse the columns and keys in parentheses, if there are any."""
    elements = cursor.parenthesised_list(parse_table_element) if cursor.word() == "(" else ()
    columns = tuple(element for element in elements if isinstance(element, syntax.ColumnDefinition))
    return columns, tuple(element for element in elements if isinstance(element, syntax.KeyDefinition))


def parse_table_element(cursor: Cursor) -> syntax.ColumnDefinition | syntax.KeyDefinition:
    """Parse one column or key, which `,` or `)` must follow."""
    if begins_key(cursor):
        key = parse_key(cursor)
        expect_key_end(cursor)
        return key
    column = parse_column(cursor)
    expect_column_end(cursor, column)
    return column


def parse_table_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    """Parse table options, with or without commas between them; raises SchemaError."""
    options: list[syntax.TableOption] = []
    while begins_option(cursor) or options and cursor.accept(","):
        options.append(parse_option(cursor))
    return tuple(options)


def parse_source_query(cursor: Cursor) -> tuple[str, syntax.EmbeddedQuery | None]:
    """Parse `[IGNORE | REPLACE] [AS] [query]`. TiDB's grammar accepts the words without a query."""
    on_duplicate = next((word for word in ("IGNORE", "REPLACE") if cursor.accept(word)), "")
    cursor.accept("AS")
    return on_duplicate, parse_query(cursor) if cursor.word() in QUERIES else None


def fail_after_table(cursor: Cursor, table: syntax.CreateTable) -> None:
    """Raise SchemaError for a token after the end of the table."""
    if table.partitioning or table.query or table.like or table.on_commit_delete is not None:
        cursor.unexpected("the end of the statement")
    fail_unknown_option(cursor)


DATABASE_OPTIONS = ("DEFAULT", "CHARSET", "CHARACTER", "CHAR", "COLLATE", "ENCRYPTION", "PLACEMENT", "SET", "READ")
UNRESERVED_OPTIONS = ("CHARSET", "ENCRYPTION", "PLACEMENT")


# -- databases ----------------------------------------------------------------------------------------------------


def parse_create_database(cursor: Cursor) -> syntax.CreateDatabase:
    if_not_exists = cursor.accept("IF NOT EXISTS")
    return syntax.CreateDatabase(cursor.name("the name of a database"), parse_database_options(cursor), if_not_exists)


def parse_alter_database(cursor: Cursor) -> syntax.AlterDatabase:
    word, after = cursor.word(), cursor.word_after()
    unnamed = (
        word in SOFT_DELETE_OPTIONS
        or word in DATABASE_OPTIONS
        and (word not in UNRESERVED_OPTIONS or after not in DATABASE_OPTIONS)
    )
    name = "" if unnamed else cursor.name("the name of a database")
    if cursor.at_end():
        cursor.unexpected(f"an option of a database: {', '.join(DATABASE_OPTIONS)}")
    return syntax.AlterDatabase(name, parse_database_options(cursor))


def parse_drop_database(cursor: Cursor) -> syntax.DropDatabase:
    if_exists = cursor.accept("IF EXISTS")
    return syntax.DropDatabase(cursor.name("the name of a database"), if_exists)


def parse_database_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    return cursor.list_while(lambda cursor: not cursor.at_end(), parse_database_option)


def parse_database_option(cursor: Cursor) -> syntax.TableOption:
    """Parse CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY, READ ONLY or TIFLASH REPLICA (restored)."""
    if cursor.accept("SET TIFLASH REPLICA"):
        return syntax.TableOption("TIFLASH REPLICA", parse_tiflash_replica(cursor))
    if cursor.accept("READ ONLY"):
        return syntax.TableOption("READ ONLY", expressions.parse_setting(cursor, "0", "1", "DEFAULT"))
    cursor.accept("DEFAULT")
    if expressions.accept_charset(cursor):
        cursor.accept("=")
        return syntax.TableOption("CHARSET", expressions.parse_charset_name(cursor))
    if cursor.accept("COLLATE"):
        cursor.accept("=")
        return syntax.TableOption("COLLATE", expressions.parse_collation_name(cursor))
    if cursor.accept("ENCRYPTION"):
        cursor.accept("=")
        return syntax.TableOption("ENCRYPTION", parse_encryption(cursor), quoted=True)
    if cursor.accept("PLACEMENT POLICY"):
        return parse_placement_option(cursor)
    if cursor.word() in SOFT_DELETE_OPTIONS:
        return parse_option(cursor)
    cursor.unexpected(f"an option of a database: {', '.join(DATABASE_OPTIONS)}", DATABASE_OPTIONS)


def parse_tiflash_replica(cursor: Cursor) -> str:
    count = cursor.integer("the number of replicas")
    labels = expressions.parse_location_labels(cursor)
    return f"{count} LOCATION LABELS {', '.join(map(quote_string, labels))}" if labels else str(count)


def parse_encryption(cursor: Cursor) -> str:
    """Parse 'Y' or 'N' in either case."""
    token = cursor.next_token()
    value = cursor.string("'Y' or 'N'")
    if value not in ("Y", "y", "N", "n"):
        cursor.fail(f"{value!r} is not expected here. Accepted: 'Y' or 'N'", token)
    return value


def parse_placement_option(cursor: Cursor) -> syntax.TableOption:
    """Parse the rest of PLACEMENT POLICY: a policy, DEFAULT or SET DEFAULT."""
    is_set = cursor.accept("SET")
    if is_set:
        cursor.expect("DEFAULT")
    else:
        cursor.accept("=")
    if is_set or cursor.accept("DEFAULT"):
        return syntax.TableOption("PLACEMENT POLICY", "DEFAULT", default=True)
    return syntax.TableOption("PLACEMENT POLICY", cursor.name_or_string("a placement policy"))


# -- tables -------------------------------------------------------------------------------------------------------


def parse_drop_table(cursor: Cursor, temporary: str = "") -> syntax.DropTable:
    if_exists = cursor.accept("IF EXISTS")
    tables = cursor.comma_list(Cursor.qualified_name)
    return syntax.DropTable(tables, if_exists, temporary, expressions.parse_restrict_or_cascade(cursor))


def parse_truncate_table(cursor: Cursor) -> syntax.TruncateTable:
    cursor.accept("TABLE")
    return syntax.TruncateTable(cursor.qualified_name())


def parse_rename_table(cursor: Cursor) -> syntax.RenameTable:
    return syntax.RenameTable(cursor.comma_list(parse_rename_pair))


def parse_rename_pair(cursor: Cursor) -> tuple[syntax.TableName, syntax.TableName]:
    """Parse `old TO new`."""
    old = cursor.qualified_name()
    cursor.expect("TO")
    return old, cursor.qualified_name()


def parse_repair_table(cursor: Cursor) -> syntax.RepairTable:
    return syntax.RepairTable(cursor.qualified_name(), parse_create_table(cursor))


# -- RECOVER and FLASHBACK ----------------------------------------------------------------------------------------


Flashback = syntax.FlashbackTable | syntax.FlashbackDatabase | syntax.FlashbackCluster


def parse_recover_table(cursor: Cursor) -> syntax.RecoverTable:
    """Parse the rest of RECOVER TABLE: `BY JOB n`, or a table and the number of the drop."""
    if cursor.accept("BY"):
        cursor.expect("JOB")
        return syntax.RecoverTable(None, job=cursor.integer("the number of a job"))
    table = cursor.qualified_name()
    return syntax.RecoverTable(table, number=0 if cursor.at_end() else cursor.integer())


def parse_flashback(cursor: Cursor) -> Flashback:
    if cursor.accept("CLUSTER"):
        timestamp, tso = parse_point_in_time(cursor)
        return syntax.FlashbackCluster(timestamp, tso)
    if cursor.accept("TABLE"):
        return parse_flashback_table(cursor)
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        return parse_flashback_database(cursor)
    cursor.unexpected("TABLE, DATABASE or CLUSTER", ("TABLE", "DATABASE", "SCHEMA", "CLUSTER"))


def parse_flashback_table(cursor: Cursor) -> syntax.FlashbackTable | syntax.FlashbackCluster:
    tables = cursor.comma_list(Cursor.qualified_name)
    if len(tables) > 1 or is_point_in_time(cursor):
        timestamp, tso = parse_point_in_time(cursor)
        return syntax.FlashbackCluster(timestamp, tso, tables)
    return syntax.FlashbackTable(tables[0], parse_new_name(cursor))


def parse_flashback_database(cursor: Cursor) -> syntax.FlashbackDatabase | syntax.FlashbackCluster:
    database = cursor.name("the name of a database")
    if is_point_in_time(cursor):
        timestamp, tso = parse_point_in_time(cursor)
        return syntax.FlashbackCluster(timestamp, tso, database=database)
    return syntax.FlashbackDatabase(database, parse_new_name(cursor))


def is_point_in_time(cursor: Cursor) -> bool:
    return cursor.word() == "TO" and cursor.word_after() in ("TIMESTAMP", "TSO") and not cursor.is_last(1)


def parse_new_name(cursor: Cursor) -> str:
    return cursor.name("a new name") if cursor.accept("TO") else ""


def parse_point_in_time(cursor: Cursor) -> tuple[str, int]:
    """Parse `TO TIMESTAMP '…'` or `TO TSO n`, and return the text and the number."""
    cursor.expect("TO")
    if cursor.accept("TIMESTAMP"):
        return cursor.string("a timestamp between quotes"), 0
    cursor.expect("TSO")
    token = cursor.next_token()
    tso = cursor.integer("a TSO")
    if tso == 0:
        cursor.fail("a TSO of 0 is no moment", token)
    return "", tso


# -- locks --------------------------------------------------------------------------------------------------------


def parse_lock_tables(cursor: Cursor) -> syntax.LockTables:
    return syntax.LockTables(cursor.comma_list(parse_table_lock))


def parse_table_lock(cursor: Cursor) -> tuple[syntax.TableName, str]:
    """Parse `table READ [LOCAL]` or `table WRITE [LOCAL]`."""
    table, kind = cursor.qualified_name(), cursor.one_of("READ", "WRITE")
    return table, f"{kind} LOCAL" if cursor.accept("LOCAL") else kind


def parse_unlock_tables(cursor: Cursor) -> syntax.UnlockTables:
    return syntax.UnlockTables()


def parse_cleanup_locks(cursor: Cursor) -> syntax.UnlockTables:
    return syntax.UnlockTables(cursor.comma_list(Cursor.qualified_name))


# -- indexes ------------------------------------------------------------------------------------------------------


def parse_create_index(cursor: Cursor, kind: str) -> syntax.CreateIndex:
    at = cursor.next_token().start
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = cursor.name("the name of an index")
    using = cursor.one_of(*INDEX_TYPES) if cursor.accept("USING") or cursor.accept("TYPE") else ""
    cursor.expect("ON")
    table = cursor.qualified_name()
    parts = cursor.parenthesised_list(parse_key_part)
    options = parse_key_options(cursor)
    key = syntax.KeyDefinition(kind, name, parts, replace(options, using=options.using or using), at, if_not_exists)
    return syntax.CreateIndex(table, key, *expressions.parse_lock_and_algorithm(cursor))


def parse_drop_index(cursor: Cursor, hypothetical: bool = False) -> syntax.DropIndex:
    if_exists = cursor.accept("IF EXISTS")
    name = cursor.name("the name of an index")
    cursor.expect("ON")
    table = cursor.qualified_name()
    algorithm, lock = ("", "") if hypothetical else expressions.parse_lock_and_algorithm(cursor)
    return syntax.DropIndex(table, name, if_exists, algorithm, lock, hypothetical)
