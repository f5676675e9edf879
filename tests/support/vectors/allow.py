"""Vectors of the allow-list: which action types each release replicates, and what the published docs say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from support.vectors import keys as vector_keys
from simulator.releases import RELEASES, Release
from simulator.ticdc.ddl.allow import allowed, eligibility
from simulator.tidb.ddl.actions import ACTIONS, CODES, SCHEMA_ACTIONS, VIEW_ACTIONS
from simulator.tidb.ddl.create_table import create_table
from simulator.tidb.model.table import Table
from support.vectors.codecs import Json
from support.vectors.files import Vector, releases_of
from support.vectors.keys import Kind

BARE = create_table("CREATE TABLE t (a INT, b INT UNIQUE, KEY k (a))", "test")
KEYED = create_table("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, KEY k (a))", "test")

DROP_TABLE = CODES["DropTable"]
MADE = {"CREATE TABLE", "RECOVER TABLE"}
MADE_VALID = {"CREATE INDEX", "ADD INDEX", "ADD PRIMARY KEY"}
"""Statements "that create a valid index" are what the docs' table is about; others of the kind are `check_index`'s."""


def tables(statement: str, code: int, table: Table) -> tuple[Table | None, Table | None]:
    """A table before and after a statement that leaves its keys as they are; views are None."""
    if code in VIEW_ACTIONS:
        return None, None
    after = KEYED if statement in MADE_VALID else table
    return None if statement in MADE else table, None if code == DROP_TABLE else after


def check_docs(statement: str, code: int, wanted: tuple[str, str, str], release: Release) -> None:
    """A row of the docs' table: `Y` or `N` with a valid index, without one, and without one by force-replicate."""
    valid, none, forced = wanted
    assert sent(statement, code, KEYED, False, release) == valid
    assert sent(statement, code, BARE, True, release) == forced
    assert sent(statement, code, BARE, False, release) == ("Y" if needs_no_index(code, release) else none)


def needs_no_index(code: int, release: Release) -> bool:
    """Whether TiCDC's code has no table to ask for a valid index, whatever the docs say: a view is always eligible
    (IsEligible: tiflow cdc/model/schema_storage.go, ticdc pkg/common/table_info.go), and classic TiCDC asks its
    snapshot of after the statement, where a table that was dropped is no ineligible one (tiflow
    cdc/puller/ddl_puller.go checkIneligibleTableDDL, cdc/entry/schema/snapshot.go isIneligibleTableID)."""
    return code in VIEW_ACTIONS or code == DROP_TABLE and release.architecture == "classic"


def check_index(release: Release) -> None:
    """An index of a table without a valid one is sent where it is valid itself, and only then."""
    assert eligibility(BARE, BARE, False, release) == "skip"
    assert eligibility(BARE, KEYED, False, release) == "send"


def sent(statement: str, code: int, table: Table, force: bool, release: Release) -> str:
    """`Y` or `N`, as the docs have it."""
    decision = "send" if code in SCHEMA_ACTIONS else eligibility(*tables(statement, code, table), force, release)
    return "Y" if decision == "send" and allowed(code, release) else "N"


def check_allow(vector: Vector) -> None:
    """A vector of `facts.allow_list`, in every release that it holds for."""
    data = vector.data
    if "action" in data:
        assert CODES[data["action"]] == data["type_code"]
    if "action_string" in data:
        assert ACTIONS[data["type_code"]].text == data["action_string"]
    if data["replicated"] is None:
        assert data["difference"].startswith("seed: CREATE/ADD INDEX without valid index")
        for release in releases_of(data):
            check_index(release)
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


KINDS = {"facts.allow_list": Kind(check_allow, vector_keys.of(
    "action action_string type_code type_codes replicated seed_ddl valid_index no_valid_index "
    "no_valid_index_force_replicate difference"))}
