"""Bad statements by the hundred thousand: `PYTHONPATH=tests python -m benchmarks.fuzz_ddl [--inputs N] [--seed N]`.

Good statements of every kind are damaged; each is read, written back, turned into jobs and events, and applied to a
catalog. Also measured: short good statements a second, without the catalog. Rates are per CPU second of one core. One
law: whatever the text, nothing is raised but DdlError.
"""

from __future__ import annotations

import argparse
import random
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from support import damage
from support.damage import WORD, Damage, noise, swapped, without

from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.ticdc.ddl.events import job_events, sent_query
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import Session
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.restore.ddl import restore_statement

SHORT = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT '')",
    "ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 1 AFTER id",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t ADD UNIQUE KEY uk (name)",
    "CREATE INDEX i ON t (name)",
    "DROP INDEX i ON t",
    "RENAME TABLE t TO shop.u",
    "TRUNCATE TABLE t",
    "DROP TABLE IF EXISTS t, u",
)
"""What applications send most, for the rate."""

GOOD = (
    *SHORT,
    "ALTER DATABASE shop COLLATE utf8mb4_bin",
    "DROP SCHEMA IF EXISTS `weird``name`",
    "CREATE TABLE o (a INT UNSIGNED AUTO_INCREMENT, b DECIMAL(10,2), c ENUM('x','it''s'), d JSON, e TIMESTAMP(3) NULL"
    " DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), f INT AS (a + 1) STORED, PRIMARY KEY (a, b), KEY k"
    " (c DESC, (lower(c))), CONSTRAINT fk FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE, CHECK (a > 0)) ENGINE"
    " = InnoDB CHARSET = utf8mb4 COMMENT = 'x' /*T! SHARD_ROW_ID_BITS = 4 */",
    "CREATE TABLE p (id INT, at DATE) PARTITION BY RANGE (year(at)) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1"
    " VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE l (a INT) PARTITION BY LIST COLUMNS (a) (PARTITION p0 VALUES IN (1, 2, NULL), PARTITION p1 VALUES IN"
    " (3))",
    "CREATE TABLE h (a BIGINT /*T![auto_rand] AUTO_RANDOM(5) */ PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 4",
    "CREATE TABLE IF NOT EXISTS s LIKE shop.t",
    "CREATE TABLE w (t DATETIME) TTL = t + INTERVAL 3 MONTH TTL_ENABLE = 'ON'",
    "ALTER TABLE t MODIFY COLUMN c BIGINT FIRST, CHANGE d e VARCHAR(9) COLLATE utf8mb4_bin, ALTER f SET DEFAULT 2",
    "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (a, b) REFERENCES shop.p (x, y) ON UPDATE SET NULL",
    "ALTER TABLE t ADD (c1 INT, c2 TEXT), DROP PRIMARY KEY, RENAME INDEX a TO b, ALTER INDEX i INVISIBLE",
    "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "ALTER TABLE t ADD PARTITION (PARTITION p2 VALUES LESS THAN (10)), ALGORITHM = INPLACE, LOCK = NONE",
    "ALTER TABLE t REORGANIZE PARTITION p0, p1 INTO (PARTITION p VALUES LESS THAN (5))",
    "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u WITHOUT VALIDATION",
    "ALTER TABLE t TRUNCATE PARTITION p0, p1",
    "ALTER TABLE t RENAME COLUMN a TO b, RENAME TO u",
    "ALTER TABLE t COMMENT = 'new', AUTO_INCREMENT = 100",
    "CREATE OR REPLACE ALGORITHM = MERGE DEFINER = 'u'@'%' SQL SECURITY INVOKER VIEW v (a, b) AS SELECT x, count(*)"
    " FROM t WHERE y IN (SELECT z FROM u) GROUP BY x ORDER BY 2 LIMIT 3",
    "DROP VIEW IF EXISTS v, w",
    "CREATE SEQUENCE s START WITH 1 INCREMENT BY 2 CACHE 10 NOCYCLE",
    "ALTER SEQUENCE s RESTART WITH 5",
    "CREATE PLACEMENT POLICY p PRIMARY_REGION = 'us' FOLLOWERS = 2",
    "FLASHBACK TABLE t TO u",
    "RECOVER TABLE BY JOB 5",
    "LOCK TABLES t READ, u WRITE",
    "INSERT INTO t VALUES (1, 'x')",
    "SELECT 1",
)

STRANGE = (
    *damage.STRANGE,
    "/*!",
    "/*T![",
    "\x1a",
    "\u00a0",
    "\ud800",
    "b'2'",
    "x'a'",
    "1e",
    "@@",
    "?",
    "->",
    "->>",
    ":=",
    "<=>",
    "NULL",
    "DEFAULT",
    "KEY",
    "SELECT",
    "IF EXISTS",
    "_utf8",
    "N'",
    "$1",
    "#",
)

PAIRS = (("(", ")"), ("-", ""), ("NOT ", ""), ("/*! ", " */"), ("f(", ")"), ("(SELECT ", ")"), ("a.", ""))


def twice(words: list[str], choice: random.Random) -> list[str]:
    """One stretch of tokens doubled."""
    start = choice.randrange(len(words))
    stretch = words[start : start + choice.randint(1, 6)]
    return words[:start] + stretch * choice.randint(2, 4) + words[start + len(stretch) :]


def cut(words: list[str], choice: random.Random) -> list[str]:
    """An end, or a beginning, too soon."""
    place = choice.randrange(len(words))
    return words[:place] if choice.random() < 0.7 else words[place:]


def strange(words: list[str], choice: random.Random) -> list[str]:
    """Something that has no business here: an unbalanced quote, a number without end, a control character."""
    place = choice.randrange(len(words))
    return [*words[:place], choice.choice(STRANGE), *words[place + choice.randint(0, 1) :]]


def nested(words: list[str], choice: random.Random) -> list[str]:
    """Parentheses, signs or comments many levels deep, closed or not."""
    place, depth = choice.randrange(len(words)), choice.choice((3, 30, 300, 3000))
    begin, end = choice.choice(PAIRS)
    inside = [begin * depth, words[place], end * choice.choice((depth, depth, depth - 1))]
    return [*words[:place], *inside, *words[place + 1 :]]


def spliced(words: list[str], choice: random.Random) -> list[str]:
    """The head of one statement, the tail of another."""
    other = WORD.findall(choice.choice(GOOD))
    return words[: choice.randrange(len(words))] + other[choice.randrange(len(other)) :]


DAMAGES: tuple[Damage, ...] = (without, twice, swapped, cut, strange, noise, nested, spliced)


def damaged(choice: random.Random) -> str:
    """A good statement after one to three damages."""
    words = WORD.findall(choice.choice(GOOD))
    for each in choice.choices(DAMAGES, (4, 2, 3, 2, 5, 1, 1, 3), k=choice.randint(1, 3)):
        words = each(words, choice) or [" "]
    return "".join(words)


def known() -> Catalog:
    """What the good CREATE statements make, as far as TiDB takes them one after the other."""
    held = build_catalog((), ("shop",))
    for text in GOOD:
        statement = parse_ddl(text) if text.startswith("CREATE ") else None
        with suppress(DdlError):
            held = execute(statement, text, Session("shop", held, V8_5)).catalog or held if statement else held
    return held


def outcome(text: str, held: Catalog | None) -> str:
    """What becomes of a text: `taken`, `empty`, or the code of its DdlError; anything else is raised."""
    try:
        statement = parse_ddl(text)
        if statement is None:
            return "empty"
        restore_statement(statement)
        for job in execute(statement, text, Session("shop", held, V8_5)).jobs:
            for event in job_events(job, V8_5):
                sent_query(event, V8_5)
    except DdlError as error:
        return error.code or "not DDL"
    return "taken"


def offenders(texts: Iterator[str], outcomes: Counter[str]) -> Iterator[tuple[str, str]]:
    """Texts at which something else was raised, with the last lines of the traceback; counts all outcomes."""
    held = known()
    for text in texts:
        try:
            outcomes[outcome(text, held)] += 1
        except Exception as error:  # the very thing that is looked for
            outcomes[f"OFFENDER {type(error).__name__}"] += 1
            yield text, "".join(traceback.format_exc(limit=-2))


def rate(seconds: float = 2.0) -> float:
    """Short statements a second: read, written back, turned into jobs and events."""
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for text in SHORT:
            outcome(text, None)
        count += len(SHORT)
    return count / (time.process_time() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    choice, outcomes = random.Random(given.seed), Counter[str]()
    start = time.process_time()
    found = list(offenders((damaged(choice) for _ in range(given.inputs)), outcomes))
    seconds = time.process_time() - start
    print(f"{given.inputs:,} inputs (seed {given.seed}): {seconds:.1f} s, {given.inputs / seconds:,.0f} a second")
    for kind, count in outcomes.most_common():
        print(f"{count:>10,}  {kind}")
    print(f"{rate():,.0f} short statements a second")
    for text, trace in sorted(found, key=lambda pair: len(pair[0]))[:20]:
        print(f"\noffender: {text[:300]!r}\n{trace}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
