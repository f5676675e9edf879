"""Vectors of statements: which jobs they are, what TiCDC does with them, the text that it sends, and its allow-list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from simulator.errors import DdlError
from simulator.releases import RELEASES, Release
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.ticdc.ddl.allow import is_sent
from simulator.ticdc.ddl.classify import decide
from simulator.ticdc.ddl.events import JobEvent, job_events
from simulator.ticdc.ddl.jobs_text import execute_text, parse_job_text
from simulator.ticdc.ddl.sent_text import sent_text
from simulator.tidb.ddl.actions import SCHEMA_ACTIONS, VIEW_ACTIONS, Action
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.ddl import AlterTable, RecoverTable
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import CreateTable
from support.vectors.codecs import Json
from support.vectors.files import Vector, releases_of
from support.vectors.filtering import plain_rules
from support.vectors.kinds import Kind, keys_of


def check_ddl_statement(vector: Vector) -> None:
    """A vector of `facts.ddl_statements`."""
    data, release = vector.data, vector.release
    if data.get("statement") is False:
        _check_code(data, release)
        return
    if "tidb_release" in data:
        assert data["tidb_release"] == "TiDB<=6.1"
        release = replace(release, multi_schema_change=False)
    elif "type_code_tidb_le_6_1" in data:
        _check_before_multi_schema_change(data, replace(release, multi_schema_change=False))
    _check_specs(data, release)
    OUTCOMES[data["outcome"]](data, release)


def _jobs(data: Json, release: Release) -> tuple[Job, ...]:
    """The jobs; a table that the text names by a job alone is told, as the cluster would."""
    dropped = {}
    for statement in parse_job_text(data["sql"], release):
        if isinstance(statement, RecoverTable) and statement.table is None:
            dropped = {statement.job: TableName(data["schema"], data["table"])}
    return execute_text(data["sql"], Session(data["current_database"], None, release, dropped=dropped)).jobs


def _check_before_multi_schema_change(data: Json, release: Release) -> None:
    """The job of TiDB up to 6.1, null where it refuses the statement."""
    if data["type_code_tidb_le_6_1"] is None:
        with pytest.raises(DdlError):
            _jobs(data, release)
    else:
        assert _jobs(data, release)[0].code == data["type_code_tidb_le_6_1"]


def _check_specs(data: Json, release: Release) -> None:
    if data["outcome"] == "parse_error" or "alter_specs" not in data:
        return
    found = parse_job_text(data["sql"], release)
    assert sum(len(statement.specs) for statement in found if isinstance(statement, AlterTable)) == data["alter_specs"]


def _check_code(data: Json, release: Release) -> None:
    code = data["type_code"]
    assert CODES[data["action"]] == code
    assert Action(code).text == data.get("action_string", Action(code).text)
    assert canal_type(code, release) == data["canal_type"]
    assert (code in release.allowed_ddl) == data["in_allow_list"]
    assert found_since(code) == data.get("classic_replicated_since", found_since(code))


def found_since(code: int) -> str | None:
    """The first classic release that replicates the action."""
    return next((name for name, release in RELEASES["classic"].items() if code in release.allowed_ddl), None)


def _check_jobs(data: Json, release: Release) -> None:
    """Everything that a vector says of the first job and of the events."""
    found = _jobs(data, release)
    first = found[0]
    assert first.code == data["type_code"]
    assert (first.schema, first.table) == (data["schema"], data["table"])
    _check_code(data, release)
    _check_events(data, [event for job in found for event in job_events(job, release)], release)
    _check_decided(data, first, release)


def _check_events(data: Json, found: Sequence[JobEvent], release: Release) -> None:
    if not release.splits_renames and data["type_code"] == Action.RENAME_TABLES:
        assert [event.type_code for event in found] == [data["type_code"]]
    elif "schema_table_new_arch" in data and release.architecture == "new":
        assert [(event.schema, event.table) for event in found] == [tuple(data["schema_table_new_arch"])]
    elif "events" not in data:
        assert [(event.schema, event.table) for event in found][:1] == [(data["schema"], data["table"])]
    else:
        assert len(found) == len(data["events"])
        for event, wanted in zip(found, data["events"], strict=True):
            _check_event(wanted, event, release)


def _check_event(wanted: Json, event: JobEvent, release: Release) -> None:
    code = wanted["type_code"]
    assert event.type_code == (wanted.get("type_code_new_arch", code) if release.architecture == "new" else code)
    assert CODES[wanted["action"]] == code
    assert canal_type(code, release) == wanted["canal_type"]
    assert (event.schema, event.table) == (wanted["schema"], wanted["table"])
    if "query_before_restore" in wanted and rebuilds(code, release):
        assert event.query == wanted["query_before_restore"]


def rebuilds(code: int, release: Release) -> bool:
    """Whether the release writes the statement anew: `text rebuilt … from 6.1 on`, as the notes have it."""
    if code == Action.EXCHANGE_TABLE_PARTITION:
        return release.rebuilds_exchange
    return release.rebuilds_drop if code in (Action.DROP_TABLE, Action.DROP_VIEW) else release.splits_renames


def _check_decided(data: Json, job: Job, release: Release) -> None:
    before = build_catalog((), [data["current_database"], *filter(None, [job.schema])])
    after = None
    if isinstance(job.statement, CreateTable) and not job.statement.like:
        after = execute_text(data["sql"], Session(data["current_database"], before, release)).catalog
    found = decide(job, before if after else None, after, plain_rules(release))
    assert found.outcome == {"event": "send", "discarded": "discard", "ineligible": "ineligible"}[data["outcome"]]


def _check_no_job(data: Json, release: Release) -> None:
    assert _jobs(data, release) == ()


def _check_failing(prefixes: tuple[str, ...]) -> Callable[[Json, Release], None]:
    def check(data: Json, release: Release) -> None:
        with pytest.raises(DdlError) as caught:
            _jobs(data, release)
        assert caught.value.code in prefixes or any(each and caught.value.code.startswith(each) for each in prefixes)
        expected = re.match(r"\[(\w+:\d+)\](.*)", data.get("error") or data.get("note") or "")
        if expected and release.multi_schema_change:
            assert (caught.value.code, caught.value.text) == expected.groups()
        assert caught.value.code == data.get("error_code", caught.value.code)
        assert data.get("error_text", "") in caught.value.text

    return check


def canal_type(code: int, release: Release) -> str:
    """What Canal-JSON calls the action."""
    event = DdlEvent(1, "test", "t", "", code)
    message = CODECS["canal-json"].ddl(event, CodecOptions("canal-json"), release)[1]
    return str(json.loads(message)["type"])


OUTCOMES: dict[str, Callable[[Json, Release], None]] = {
    "event": _check_jobs,
    "discarded": _check_jobs,
    "ineligible": _check_jobs,
    "no_job": _check_no_job,
    "tidb_error": _check_failing(("ddl:", "planner:", "schema:")),
    "cdc_error": _check_failing(("CDC:",)),
    "parse_error": _check_failing(("parser:1064",)),
    "not_ddl": _check_failing(("",)),
}


OTHER_CHARSET = "utf8"
"""The charset of jobs in `ddl_text` whose `other_fields` are set (tiflow v8.5.3 cdc/owner/ddl_sink_test.go)."""


def check_ddl_text(vector: Vector) -> None:
    """A vector of `ddl_text`: statement → text."""
    data = vector.data
    charset = OTHER_CHARSET if data["other_fields"] else ""
    assert sent_text(data["sql"], vector.release, charset) == data["query"]


def check_fact_ddl_text(vector: Vector) -> None:
    """A vector of `facts.ddl_text`: text of a job → text sent, by release."""
    data = vector.data
    assert vector.release.name == data["release"]
    assert sent_text(data["job_query"], vector.release, data["job_charset"] or "") == data["query_sent"]


CODES = {action.constant: action for action in Action}
"""Job types by TiDB's constant."""

BARE = create_table("CREATE TABLE t (a INT, b INT UNIQUE, KEY k (a))", "test")
KEYED = create_table("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, KEY k (a))", "test")

DROP_TABLE = Action.DROP_TABLE
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
    assert not is_sent(BARE, BARE, False, release)
    assert is_sent(BARE, KEYED, False, release)


def sent(statement: str, code: int, table: Table, force: bool, release: Release) -> str:
    """`Y` or `N`, as the docs have it."""
    eligible = code in SCHEMA_ACTIONS or is_sent(*tables(statement, code, table), force, release)
    return "Y" if eligible and code in release.allowed_ddl else "N"


def check_allow(vector: Vector) -> None:
    """A vector of `facts.allow_list`, in every release that it holds for."""
    data = vector.data
    if "action" in data:
        assert CODES[data["action"]] == data["type_code"]
    if "action_string" in data:
        assert Action(data["type_code"]).text == data["action_string"]
    if data["replicated"] is None:
        assert data["difference"].startswith("seed: CREATE/ADD INDEX without valid index")
        for release in releases_of(data):
            check_index(release)
        return
    codes = data.get("type_codes") or [data["type_code"]]
    found = {
        release.name
        for release in _about(data)
        for code in codes
        if (code in release.allowed_ddl) != data["replicated"]
    }
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
        for architecture, releases in RELEASES.items()
        if data["architecture"] in ("both", architecture)
        for tag in named or ["v8.5.7"]
    ]


KINDS = {
    "facts.ddl_statements": Kind(
        check_ddl_statement,
        keys_of(
            "statement sql current_database action action_string type_code type_code_tidb_le_6_1 canal_type "
            "canal_type_history schema table schema_table_new_arch in_allow_list classic_replicated_since outcome "
            "alter_specs tidb_release syntax_checked error error_code error_text",
            events=keys_of("action type_code type_code_new_arch canal_type schema table query_before_restore"),
        ),
    ),
    "ddl_text": Kind(check_ddl_text, keys_of("sql query other_fields")),
    "facts.ddl_text": Kind(check_fact_ddl_text, keys_of("job_query job_charset query_sent")),
    "facts.allow_list": Kind(
        check_allow,
        keys_of(
            "action action_string type_code type_codes replicated seed_ddl valid_index no_valid_index "
            "no_valid_index_force_replicate difference"
        ),
    ),
}
