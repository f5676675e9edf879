"""A scripted upstream for tests, and a catalog that statements of DDL change: statements, rows, errors and tables of cases as
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from simulator.errors import DdlError, SqlError
from simulator.releases import V8_5, Release
from simulator.tidb.ddl.catalog import Catalog, build_catalog, lower_names, object_key
from simulator.tidb.ddl.execute import execute as execute_ddl
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.engine import CommittedTransaction, FailedStatement, StatementOutcome
from simulator.tidb.engine.execution import Upstream, new_upstream
from simulator.tidb.errors import error_number
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax import AlterTable, IntervalPartitionSpec
from simulator.tidb.syntax.definitions import Statement

NOW_MS = 1_582_165_220_123
"""2020-02-20 02:20:20.123 UTC."""

DUMPLING = """/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `orders` (
  `id` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,
  `doc` json DEFAULT NULL,
  `city` varchar(20) GENERATED ALWAYS AS (json_unquote(json_extract(`doc`, _utf8mb4'$.c(it'))) VIRTUAL,
  `at` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `v` vector(3) DEFAULT NULL COMMENT 'a; b, c) /* d */ -- e',
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  KEY `fx` ((lower(`city`)),`at` DESC) /*!80000 INVISIBLE */,
  UNIQUE KEY `uk` (`city`(10)) /*T![global_index] GLOBAL */ COMMENT 'it''s',
  VECTOR INDEX `vi`((VEC_COSINE_DISTANCE(`v`))),
  KEY `last` (`at`),
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `other`.`t` (`x`) ON DELETE CASCADE /* FOREIGN KEY INVALID */,
  CONSTRAINT `c` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci /*T![auto_rand_base] AUTO_RANDOM_BASE=30001 */ \
COMMENT='of; shop' /*T![placement] PLACEMENT POLICY=`p` */ /*T![ttl] TTL=`at` + INTERVAL 3 MONTH */ \
/*T![ttl] TTL_ENABLE='ON' */ /*T![ttl] TTL_JOB_INTERVAL='1h' */ /* CACHED ON */ /*T![not_known_yet] ANYTHING (1 */;
"""
"""A table as Dumpling writes it, with most that a definition may have."""


def cases(text: str) -> list[tuple[str, ...]]:
    """Return the rows of a table: a line each, with `=>` between its cells. A line that begins with `=>` goes on with the
    one above; ¶ is a line break, ␀ a NUL."""
    lines = re.sub(r"\n\s*=> ", " => ", text.strip("\n")).splitlines()
    return [tuple(line.strip().replace("¶", "\n").replace("␀", "\0").split(" => ")) for line in lines]


def grouped(text: str) -> list[tuple[str, ...]]:
    """Return the rows of such a table, in which ` | ` stands between first cells that have the same others."""
    return [(each, *others) for first, *others in cases(text) for each in first.split(" | ")]


def in_test(release: Release = V8_5) -> Upstream:
    """Return a new upstream whose session is in database `test`."""
    new = new_upstream(release)
    return new.with_settings(replace(new.settings, database="test"))


@dataclass(frozen=True)
class Played(StatementOutcome):
    """What a script did."""

    upstream: Upstream = field(default_factory=in_test)


@dataclass(frozen=True)
class Refused(FailedStatement):
    upstream: Upstream = field(default_factory=in_test)


def played(text: str, upstream: Upstream | None = None, now_ms: int = NOW_MS) -> Played:
    """Execute a script in database `test`. Return the state after it, all events and the last result."""
    outcome = Played(upstream=upstream or in_test())
    for part in split_script(text):
        statement = parse_sql(part.text, outcome.upstream.settings.sql_mode)
        if statement is not None:
            after, made = outcome.upstream.execute(statement, part.text, now_ms)
            if isinstance(made, FailedStatement):
                raise made.error
            outcome = Played(**{**vars(made), "events": (*outcome.events, *made.events)}, upstream=after)
    return outcome


def refusal(text: str, upstream: Upstream, now_ms: int = NOW_MS) -> Refused:
    """Return the outcome of a statement that TiDB must refuse."""
    statement = parse_sql(text, upstream.settings.sql_mode)
    assert statement is not None
    after, found = upstream.execute(statement, text, now_ms)
    assert isinstance(found, FailedStatement), f"not refused: {text}"
    return Refused(found.error, found.events, after)


def refused(text: str, upstream: Upstream | None = None) -> str:
    """Return number and text of the error that a script meets; empty if there is none."""
    try:
        played(text, upstream)
    except (SqlError, DdlError) as error:
        return f"{error_number(error)} {error.text}"
    return ""


def refusal_number(text: str, upstream: Upstream | None = None) -> int:
    """Return the number of the error that a script meets; 0 if there is none."""
    return int(refused(text, upstream).partition(" ")[0] or 0)


def selected(text: str, upstream: Upstream | None = None) -> list[tuple[str | None, ...]]:
    """Return the rows of the last statement of a script."""
    result = played(text, upstream).result
    assert result is not None, text
    return [
        tuple(None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in row) for row in result.rows
    ]


def as_text(rows: Iterable[Iterable[str | None]]) -> str:
    """Return rows as one text: `1,x; 2,NULL`."""
    return "; ".join(",".join("NULL" if cell is None else cell for cell in row) for row in rows) or "(none)"


def shown(text: str, upstream: Upstream | None = None) -> str:
    """Return the rows of the last statement of a script as one text."""
    return as_text(selected(text, upstream))


def rows_in(upstream: Upstream, name: str, schema: str = "test") -> list[tuple[str | None, ...]]:
    """Return the rows of a table as TiDB text, in the order of TiKV."""
    table = upstream.catalog.tables[object_key(schema, name)]
    columns = [
        [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in column]
        for column in (texts.to_pylist() for texts in upstream.rows(table).texts().values())
    ]
    return list(zip(*columns, strict=True))


def changes(outcome: StatementOutcome) -> list[list[str]]:
    """Return the net changes of each transaction.

    `+t 1,x` is an INSERT, `-t 1,x` a DELETE, `t 1,x > 1,y` an UPDATE. The ordinal of a partition follows the name.
    """
    return [list(_changes(event)) for event in outcome.events if isinstance(event, CommittedTransaction)]


def _changes(event: CommittedTransaction) -> Iterator[str]:
    for table in event.changes:
        rows = zip(table.partition.to_pylist(), table.before.to_pylist(), table.after.to_pylist(), strict=True)
        for ordinal, before, after in rows:
            name = table.table.name + (f"/{ordinal}" if table.table.partitioning else "")
            was, now = _image(before), _image(after)
            yield f"+{name} {now}" if was is None else f"-{name} {was}" if now is None else f"{name} {was} > {now}"


def _image(image: bytes | None) -> str | None:
    """Return the cells with commas between them."""
    return None if image is None else image.replace(b"\xff", b",").replace(b"\xfe", b"NULL").decode()


def after(*texts: str, start: Catalog | None = None, database: str = "test") -> Catalog:
    """The catalog after the statements, the first of them on an empty database `test`."""
    state = build_catalog((), ["test"]) if start is None else start
    for text in texts:
        statement = parse_ddl(text)
        assert statement is not None
        state = behind(statement, text, state, database)
    return state


def behind(
    statement: Statement, text: str, known: Catalog, database: str = "test", now: str = "2020-02-20 02:20:20.123456"
) -> Catalog:
    """The catalog behind a statement of TiDB 8.5; raises DdlError.

    Whoever asks, the statement's jobs are held to those that it is where nothing is known.
    """
    executed = execute_ddl(statement, text, Session(database, known, V8_5, now))
    assert executed.catalog is not None
    assert_same_without_catalog(statement, text, database, executed)
    return executed.catalog


def assert_same_without_catalog(statement: Statement, text: str, database: str, executed: ExecutionResult) -> bool:
    """Whether the jobs can be compared, and if so they are the same.

    They cannot where something that is there, or not, is why a statement does nothing or more; nor where TiDB's own
    columns and keys, which IF EXISTS passes over, are taken to be touched twice; nor where TiDB writes names of partitions
    that are there into the job.
    """
    try:
        alone = execute_ddl(statement, text, Session(database, None, V8_5))
    except DdlError as error:
        assert "IF" in text.upper() and "operate same" in error.text, text
        return False
    specs = statement.specs if isinstance(statement, AlterTable) else ()
    if executed.notes != alone.notes or any(isinstance(spec, IntervalPartitionSpec) for spec in specs):
        return False
    assert [known_by_all(job) for job in executed.jobs] == [known_by_all(job) for job in alone.jobs], text
    return True


def known_by_all(job: Job) -> tuple[object, ...]:
    """What of a job does not depend on how things are spelled that exist."""
    pairs = [tuple(lower_names((*old, *new))) for old, new in job.renames]
    return job.code, job.sub_jobs, job.schema.lower(), job.table.lower(), pairs, job.renames_as_written, job.query


def table_after(*texts: str, name: str = "t") -> Table:
    """A table of `test` after the statements."""
    table = after(*texts).table("test", name)
    assert table is not None
    return table


def ddl_refusal(*texts: str) -> str:
    """Code and text of the error that the last statement raises; the ones before must apply."""
    start = after(*texts[:-1])
    try:
        after(texts[-1], start=start)
    except DdlError as error:
        return f"{error.code} {error.text}"
    raise AssertionError(f"{texts[-1]} applies")


def created(definition: str, name: str = "t") -> Table:
    """The table of `CREATE TABLE name definition`, without its text."""
    return replace(create_table(f"CREATE TABLE {name} {definition}", "test"), statement="")


def shape(table: Table) -> Table:
    """The table without its text and with its keys numbered from 1 in the order of their ids."""
    numbers = {index.id: number for number, index in enumerate(sorted(table.indexes, key=lambda index: index.id), 1)}
    return replace(table, statement="", indexes=tuple(replace(index, id=numbers[index.id]) for index in table.indexes))
