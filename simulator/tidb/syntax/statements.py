"""The statements of TiDB but those on rows: DDL (tidb pkg/parser/ast/ddl.go), those about the session and its
transaction, SHOW, LOAD DATA (misc.go, dml.go), and the statements of a script. Names without a schema stay unqualified."""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.alter import Spec
from simulator.tidb.syntax.definitions import CreateTable, EmbeddedQuery, KeyDefinition, Statement, TableOption
from simulator.tidb.syntax.expressions import Node, TableName
from simulator.tidb.syntax.queries import Assignment, QueryTree, RowStatement, SelectTree

# -- databases ---------------------------------------------------------------------------------------------------


class CreateDatabase(Statement, frozen=True):
    name: str
    options: tuple[TableOption, ...] = ()
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY."""

    if_not_exists: bool = False


class AlterDatabase(Statement, frozen=True):
    name: str
    """Empty for the current database."""

    options: tuple[TableOption, ...]
    """The options of CREATE DATABASE, and `TIFLASH REPLICA` and `READ ONLY`."""


class DropDatabase(Statement, frozen=True):
    name: str
    if_exists: bool = False


class FlashbackDatabase(Statement, frozen=True):
    name: str
    new_name: str = ""


# -- tables ------------------------------------------------------------------------------------------------------


class DropTable(Statement, frozen=True):
    tables: tuple[TableName, ...]
    if_exists: bool = False
    temporary: str = ""
    """`local`, `global` or empty."""

    behaviour: str = ""
    """RESTRICT, CASCADE or empty."""


class TruncateTable(Statement, frozen=True):
    table: TableName


class RenameTable(Statement, frozen=True):
    pairs: tuple[tuple[TableName, TableName], ...]


class RecoverTable(Statement, frozen=True):
    """RECOVER TABLE t [n] | RECOVER TABLE BY JOB n."""

    table: TableName | None
    job: int = 0
    number: int = 0


class FlashbackTable(Statement, frozen=True):
    table: TableName
    new_name: str = ""


class FlashbackCluster(Statement, frozen=True):
    """FLASHBACK CLUSTER | TABLE … | DATABASE … TO TIMESTAMP '…' | TO TSO n."""

    timestamp: str = ""
    tso: int = 0
    tables: tuple[TableName, ...] = ()
    database: str = ""


class RepairTable(Statement, frozen=True):
    """ADMIN REPAIR TABLE t CREATE TABLE …"""

    table: TableName
    definition: CreateTable


class LockTables(Statement, frozen=True):
    locks: tuple[tuple[TableName, str], ...]
    """Table and `READ`, `READ LOCAL`, `WRITE`, `WRITE LOCAL`."""


class UnlockTables(Statement, frozen=True):
    tables: tuple[TableName, ...] = ()
    """The tables of ADMIN CLEANUP TABLE LOCK. Empty for UNLOCK TABLES."""


class CreateIndex(Statement, frozen=True):
    table: TableName
    key: KeyDefinition
    """`kind` is key, unique, spatial, fulltext, vector or columnar."""

    algorithm: str = ""
    lock: str = ""


class DropIndex(Statement, frozen=True):
    table: TableName
    name: str
    if_exists: bool = False
    algorithm: str = ""
    lock: str = ""
    hypothetical: bool = False


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


class AlterTable(Statement, frozen=True):
    table: TableName
    specs: tuple[Spec, ...]
    """The specs between commas. Consecutive table options without commas are one SetOptions."""

    ignore: bool = False


# -- views and sequences -----------------------------------------------------------------------------------------


class CreateView(Statement, frozen=True):
    view: TableName
    query: EmbeddedQuery
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: tuple[str, str] | None = None
    """The user and the host, or None for CURRENT_USER."""

    security: str = "DEFINER"
    check_option: str = "CASCADED"
    """CASCADED or LOCAL."""


class DropView(Statement, frozen=True):
    views: tuple[TableName, ...]
    if_exists: bool = False


class SequenceOption(Struct, frozen=True):
    name: str
    """`INCREMENT BY`, `START WITH`, `MINVALUE`, `MAXVALUE`, `CACHE`, `CYCLE`, `NO MINVALUE`, …, `RESTART`."""

    value: int | None = None


class CreateSequence(Statement, frozen=True):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    table_options: tuple[TableOption, ...] = ()
    if_not_exists: bool = False


class AlterSequence(Statement, frozen=True):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    if_exists: bool = False


class DropSequence(Statement, frozen=True):
    sequences: tuple[TableName, ...]
    if_exists: bool = False


# -- cluster objects ---------------------------------------------------------------------------------------------


class PlacementPolicy(Statement, frozen=True):
    """CREATE, ALTER or DROP PLACEMENT POLICY."""

    verb: str
    """CREATE, ALTER or DROP."""

    name: str
    options: tuple[TableOption, ...] = ()
    or_replace: bool = False
    exists: bool = False
    """Whether the statement has IF EXISTS, or IF NOT EXISTS after CREATE."""


class ResourceGroup(Statement, frozen=True):
    """CREATE, ALTER or DROP RESOURCE GROUP."""

    verb: str
    name: str
    exists: bool = False


# -- the session and its transaction -----------------------------------------------------------------------------


class SessionStatement(Struct, frozen=True):
    """A statement about the session or its transaction, or a query."""


class Use(SessionStatement, frozen=True):
    database: str


class Begin(SessionStatement, frozen=True):
    """BEGIN or START TRANSACTION."""

    mode: str = ""
    """`PESSIMISTIC`, `OPTIMISTIC`, or empty for that of the session."""

    read_only: bool = False
    as_of: Node | None = None
    """The moment of READ ONLY AS OF TIMESTAMP."""


class Commit(SessionStatement, frozen=True):
    chain: bool = False


class Rollback(SessionStatement, frozen=True):
    savepoint: str = ""
    """The savepoint of ROLLBACK TO. Empty for the whole transaction."""

    chain: bool = False


class Savepoint(SessionStatement, frozen=True):
    name: str


class ReleaseSavepoint(SessionStatement, frozen=True):
    name: str


class VariableAssignment(Struct, frozen=True):
    """One variable of SET. SET NAMES sets `names` to the character set."""

    name: str
    """In lower case, without @ or @@."""

    value: Node | None
    """None for DEFAULT. A bare word (ON, STRICT_ALL_TABLES) is a string."""

    scope: str = ""
    """`user`, `session`, `global` or empty."""


class SetVariables(SessionStatement, frozen=True):
    settings: tuple[VariableAssignment, ...]


class SelectStatement(SessionStatement, frozen=True):
    """A query as a statement."""

    query: QueryTree

    @property
    def locks_rows(self) -> bool:
        """Whether it locks the rows that it reads, so that it reads the newest ones."""
        lock = self.query.lock if isinstance(self.query, SelectTree) else ""
        return lock.startswith("FOR UPDATE") and not lock.endswith("SKIP LOCKED")


class Do(SessionStatement, frozen=True):
    expressions: tuple[Node, ...]


class Prepare(SessionStatement, frozen=True):
    name: str
    text: str
    """The text of the statement or, if `is_variable`, the user variable with the text, in lower case."""

    is_variable: bool = False


class Execute(SessionStatement, frozen=True):
    name: str
    variables: tuple[str, ...] = ()
    """The variables of USING, in lower case without @."""


class Deallocate(SessionStatement, frozen=True):
    """DEALLOCATE PREPARE or DROP PREPARE."""

    name: str


class IgnoredStatement(SessionStatement, frozen=True):
    """A statement that affects neither rows nor the changefeed: ANALYZE, FLUSH, SPLIT TABLE, SHOW, EXPLAIN, …"""

    what: str


SqlStatement = Statement | RowStatement | SessionStatement


class ScriptStatement(Struct, frozen=True):
    """A statement of a script."""

    text: str
    """Without the semicolon."""

    line: int
    """Counted from 1."""

    fails: int | None = None
    """The error number of a `-- fails 1062` before the statement."""


class Show(SessionStatement, frozen=True):
    """A statement that shows something about the server or its catalog."""

    kind: str
    """What it shows, in the words of the statement: `TABLES`, `CREATE TABLE`, `WARNINGS`, `DDL JOBS`, …"""

    full: bool = False
    is_global: bool = False
    database: str = ""
    """The database after FROM, or of CREATE DATABASE. Empty for the current one."""

    table: TableName | None = None
    like: str | None = None
    """The pattern of LIKE."""

    where: Node | None = None
    counts: bool = False
    """SHOW COUNT(*) WARNINGS."""

    if_not_exists: bool = False
    user: str = ""
    """SHOW GRANTS FOR: `'root'@'%'`. Empty for the current user."""

    limit: int | None = None
    """ADMIN SHOW DDL JOBS n."""


# -- LOAD DATA (tidb pkg/parser/ast/dml.go, LoadDataStmt) --------------------------------------------------------------


class DelimitedText(Struct, frozen=True):
    """How a file has rows and fields."""

    separator: str = "\t"
    quote: str = ""
    escape: str = "\\"
    starting: str = ""
    """LINES STARTING BY: what is before it in a line does not count, nor does a line without it."""

    terminator: str = "\n"
    null: str | None = None
    """DEFINED NULL BY."""

    quoted_null: bool = False
    """Whether that text is NULL in quotes, too."""


class LoadData(SessionStatement, frozen=True):
    """LOAD DATA LOCAL, whose client sends the file."""

    path: str
    table: TableName
    format: DelimitedText = DelimitedText()
    ignored_lines: int = 0
    replace: bool = False
    targets: tuple[str, ...] = ()
    """The column of each field, or a user variable with its @; empty for all columns of the table."""

    assignments: tuple[Assignment, ...] = ()
    """SET."""

    charset: str = ""
    """That of the file, if its bytes are not stored as they are."""


class LoadFile(Struct, frozen=True):
    """LOAD DATA with the bytes of its file."""

    statement: LoadData
    data: bytes

    @property
    def ignore(self) -> bool:
        return not self.statement.replace
