"""Vectors of the allow-list: which action types each release replicates, and what the published docs say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.ddl.actions import ACTIONS, CODES, SCHEMA_ACTIONS
from simulator.ddl.allow import allowed, eligibility
from simulator.releases import RELEASES, Release
from simulator.schema import parse
from simulator.schema.table import Table
from vector_codecs import Json
from vector_files import Vector, releases_of

BARE = parse.create_table("CREATE TABLE t (a INT, b INT UNIQUE, KEY k (a))", "test")
KEYED = parse.create_table("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, KEY k (a))", "test")

DIFFERENCES = {
    ("CREATE INDEX", "classic"): "an index that makes no table eligible is not sent for one that is not",
    ("CREATE INDEX", "new"): "as in classic",
    ("ADD INDEX", "classic"): "an index that makes no table eligible is not sent for one that is not",
    ("ADD INDEX", "new"): "as in classic",
    ("DROP TABLE", "classic"): "a table that is gone is not in the snapshot, and so not ineligible: it is sent",
    ("CREATE VIEW", "classic"): "a view needs no index",
    ("CREATE VIEW", "new"): "a view needs no index",
    ("DROP VIEW", "classic"): "a view needs no index",
    ("DROP VIEW", "new"): "a view needs no index",
}
"""Where TiCDC's code does otherwise than its docs say for a table without a valid index."""

MADE = {"CREATE TABLE", "RECOVER TABLE"}


def tables(statement: str, table: Table) -> tuple[Table | None, Table | None]:
    """A table before and after a statement that leaves its keys as they are; views are None."""
    if statement.endswith("VIEW"):
        return None, None
    after = KEYED if statement == "ADD PRIMARY KEY" else table
    return None if statement in MADE else table, None if statement == "DROP TABLE" else after


def check_docs(statement: str, code: int, wanted: tuple[str, str, str], release: Release) -> None:
    """A row of the docs' table: `Y` or `N` with a valid index, without one, and without one by force-replicate."""
    valid, none, forced = wanted
    assert sent(statement, code, KEYED, False, release) == valid
    assert sent(statement, code, BARE, True, release) == forced
    assert (sent(statement, code, BARE, False, release) != none) == ((statement, release.architecture) in DIFFERENCES)


def sent(statement: str, code: int, table: Table, force: bool, release: Release) -> str:
    """`Y` or `N`, as the docs have it."""
    decision = "send" if code in SCHEMA_ACTIONS else eligibility(*tables(statement, table), force, release)
    return "Y" if decision == "send" else "N"


def check_allow(vector: Vector) -> None:
    """A vector of `facts.allow_list`, in every release that it holds for."""
    data = vector.data
    if "action" in data:
        assert CODES[data["action"]] == data["type_code"]
    if "action_string" in data:
        assert ACTIONS[data["type_code"]].text == data["action_string"]
    if data["replicated"] is None:
        return
    codes = data.get("type_codes") or [data["type_code"]]
    found = {release.name for release in _about(data) for code in codes if allowed(code, release) != data["replicated"]}
    assert found == set()
    if "seed_ddl" in data:
        wanted = (data["valid_index"], data["no_valid_index"], data["no_valid_index_force_replicate"])
        for release in _about(data):
            check_docs(data["seed_ddl"], codes[0], wanted, release)


def _about(data: Json) -> Iterable[Release]:
    """The docs' table, and what is said to differ from it, is about the releases of its time."""
    if "seed_ddl" not in data and "difference" not in data:
        return releases_of(data)
    named = re.findall(r"v\d+\.\d+\.\d+", data["source"])
    return [
        releases[tag]
        for architecture, releases in RELEASES.items() if data["architecture"] in ("both", architecture)
        for tag in named or ["v8.5.7"]]
