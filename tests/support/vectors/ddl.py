"""Vectors of statements and of the settings that decide about them: which jobs a statement is, what TiCDC does with it
and the text that it sends, its allow-list, RENAME TABLE; keys of a changefeed, what is rejected, filters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from simulator.errors import ChangefeedError, DdlError
from simulator.releases import RELEASES, Release
from simulator.ticdc import changefeed, dispatch
from simulator.ticdc.changefeed import EventFilter, keys, load
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.ticdc.ddl import DISCARD, SEND, decide, is_sent
from simulator.ticdc.ddl.events import JobEvent, job_events, sent_query
from simulator.ticdc.ddl.rename import Rename, replicated_pairs, schema_snapshot
from simulator.ticdc.ddl.sent_text import execute_text, parse_job_text, sent_text
from simulator.ticdc.filters import table_filter
from simulator.ticdc.filters.event_filters import (
    EventFilters,
    event_class,
    event_filters,
    normalize_name,
    rule_ignoring_ddl,
    rule_ignoring_row,
)
from simulator.ticdc.filters.row_expressions import check_expressions, rule_ignoring_values
from simulator.ticdc.rules import ChangefeedRules, Replication, changefeed_rules, replication
from simulator.tidb.ddl import SCHEMA_ACTIONS, VIEW_ACTIONS, Action
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.definitions import CreateTable, Pair
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.statements import AlterTable, RecoverTable
from support.upstreams import behind
from support.vectors.files import Json, Kind, Vector, contains, keys_of, numbers, releases_of

CODES = {action.constant: action for action in Action}
"""Job types by TiDB's constant."""


@cache
def plain_rules(release: Release) -> ChangefeedRules:
    """The rules of a changefeed without a changefeed.toml."""
    return changefeed_rules(load("kafka://localhost/t?protocol=open-protocol", release=release), release)


def check_ddl_statement(vector: Vector) -> None:
    """`facts.ddl_statements`."""
    data, release = vector.data, vector.release
    if data.get("statement") is False:
        _check_code(data, release)
        return
    before = replace(release, multi_schema_change=False)
    if "tidb_release" in data:
        assert data["tidb_release"] == "TiDB<=6.1"
        release = before
    elif data.get("type_code_tidb_le_6_1") is not None:
        assert _jobs(data, before)[0].code == data["type_code_tidb_le_6_1"]
    elif "type_code_tidb_le_6_1" in data:  # refused
        with pytest.raises(DdlError):
            _jobs(data, before)
    if data["outcome"] != "parse_error" and "alter_specs" in data:
        altered = [each for each in parse_job_text(data["sql"], release) if isinstance(each, AlterTable)]
        assert sum(len(statement.specs) for statement in altered) == data["alter_specs"]
    OUTCOMES[data["outcome"]](data, release)


def _jobs(data: Json, release: Release) -> tuple[Job, ...]:
    """The jobs; a table that the text names by a job alone is told, as the cluster would."""
    dropped = {}
    for statement in parse_job_text(data["sql"], release):
        if isinstance(statement, RecoverTable) and statement.table is None:
            dropped = {statement.job: TableName(data["schema"], data["table"])}
    return execute_text(data["sql"], Session(data["current_database"], None, release, dropped=dropped)).jobs


def _check_code(data: Json, release: Release) -> None:
    code = data["type_code"]
    assert CODES[data["action"]] == code
    assert Action(code).text == data.get("action_string", Action(code).text)
    assert canal_type(code, release) == data["canal_type"]
    assert (code in release.allowed_ddl) == data["in_allow_list"]
    first = next((name for name, of in RELEASES["classic"].items() if code in of.allowed_ddl), None)
    assert first == data.get("classic_replicated_since", first)


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
        return
    if "schema_table_new_arch" in data and release.architecture == "new":
        assert [(event.schema, event.table) for event in found] == [tuple(data["schema_table_new_arch"])]
        return
    if "events" not in data:
        assert [(event.schema, event.table) for event in found][:1] == [(data["schema"], data["table"])]
        return
    for event, wanted in zip(found, data["events"], strict=True):
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
    """`ddl_text`: statement → text."""
    data = vector.data
    assert sent_text(data["sql"], vector.release, OTHER_CHARSET if data["other_fields"] else "") == data["query"]


def check_fact_ddl_text(vector: Vector) -> None:
    """`facts.ddl_text`: text of a job → text sent, by release."""
    data = vector.data
    assert vector.release.name == data["release"]
    assert sent_text(data["job_query"], vector.release, data["job_charset"] or "") == data["query_sent"]


BARE = create_table("CREATE TABLE t (a INT, b INT UNIQUE, KEY k (a))", "test")
KEYED = create_table("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, KEY k (a))", "test")

DROP_TABLE = Action.DROP_TABLE
MADE = {"CREATE TABLE", "RECOVER TABLE"}
MADE_VALID = {"CREATE INDEX", "ADD INDEX", "ADD PRIMARY KEY"}
"""Statements "that create a valid index" are what the docs' table is about."""


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


def sent(statement: str, code: int, table: Table, force: bool, release: Release) -> str:
    """`Y` or `N`, as the docs have it."""
    eligible = code in SCHEMA_ACTIONS or is_sent(*tables(statement, code, table), force, release)
    return "Y" if eligible and code in release.allowed_ddl else "N"


def check_allow(vector: Vector) -> None:
    """`facts.allow_list`, in every release that it holds for."""
    data = vector.data
    if "action" in data:
        assert CODES[data["action"]] == data["type_code"]
    if "action_string" in data:
        assert Action(data["type_code"]).text == data["action_string"]
    if data["replicated"] is None:
        assert data["difference"].startswith("seed: CREATE/ADD INDEX without valid index")
        for release in releases_of(data):  # an index of a table without a valid one is sent where it is valid itself
            assert not is_sent(BARE, BARE, False, release)
            assert is_sent(BARE, KEYED, False, release)
        return
    codes = data.get("type_codes") or [data["type_code"]]
    for release in _about(data):
        assert {code in release.allowed_ddl for code in codes} == {data["replicated"]}, release.name
        if "seed_ddl" in data:
            wanted = (data["valid_index"], data["no_valid_index"], data["no_valid_index_force_replicate"])
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


def check_rename(vector: Vector) -> None:
    """`facts.rename`."""
    data, release = vector.data, vector.release
    filtered = replication(data["rules"], data["case_sensitive"])
    snapshot = schema_snapshot(map(named, data["known_tables"] or ()), data["known_schemas"] or ())
    rename = Rename(pairs(data["pairs"]), data["ddl"])
    assert job_of(data, release).renames == rename.pairs

    def decide() -> tuple[Pair, ...]:
        return replicated_pairs(rename, lambda schema, table: not filtered.table(schema, table), snapshot, release)

    if data["expected"] == "error":
        with pytest.raises(DdlError) as caught:
            decide()
        wraps = covers(data.get("error_wrapper_releases", ()), release.name)
        code = data["error_code"] or caught.value.code
        assert caught.value.code == (data["error_wrapper"] if wraps else code)
        assert code in str(caught.value)
        worded = re.escape(data["error_text"] or "").replace("%d", r"\d+").replace("%s", ".*")
        assert re.search(worded, caught.value.text)
        return
    assert decide() == pairs(data["kept_pairs"])
    assert bool(data["kept_pairs"]) == (data["expected"] == "replicate")
    sent = data.get("queries_sent") or data.get("query_sent")
    if sent:
        whole = len(data["pairs"]) > 1 and not release.splits_renames
        queries = [sent_text(data["ddl"], release)] if whole else [sent] if isinstance(sent, str) else sent
        assert texts(job_of(data, release), decide(), release) == queries


def job_of(data: Json, release: Release) -> Job:
    """The job of the statement, RENAME TABLE or ALTER TABLE … RENAME; what names no schema is of the current one, or
    of that of the first table."""
    database = data.get("current_database") or named(data["pairs"][0][0]).schema
    (job,) = execute_text(data["ddl"], Session(database, None, release)).jobs
    return job


def texts(job: Job, kept: tuple[Pair, ...], release: Release) -> list[str]:
    """What is sent of the pairs of a job that are left: up to 6.0 the job's own text, whatever is left (tiflow v5.4.0
    cdc/owner/schema.go BuildDDLEvent; from v6.1.0 BuildDDLEvents)."""
    written = tuple(said for pair, said in zip(job.renames, job.renames_as_written, strict=True) if pair in kept)
    return [
        sent_query(event, release)
        for event in job_events(replace(job, renames=kept, renames_as_written=written), release)
    ]


def named(full: str) -> TableName:
    """The name that a vector writes with a dot."""
    schema, _, table = full.partition(".")
    return TableName(schema, table)


def pairs(data: Iterable[tuple[str, str]]) -> tuple[Pair, ...]:
    """Old and new names of a vector."""
    return tuple((named(old), named(new)) for old, new in data)


def covers(lines: Iterable[str], release: str) -> bool:
    """Whether releases written as `v7.1.2+` (of that line), `v7.4.0-v7.5.1`, `v7.5.7` or at last `v7.6.0+` (and all
    later ones) include one."""
    own, spans = numbers(release), list(lines)
    for place, span in enumerate(spans, 1):
        first, _, last = span.removesuffix("+").partition("-")
        low, high = numbers(first), numbers(last or first)
        if low <= own <= high:
            return True
        if span.endswith("+") and low <= own and (place == len(spans) or own[:2] == low[:2]):
            return True
    return False


# -- keys, defaults, and what TiCDC rejects ----------------------------------------------------------------------------

T1 = "CREATE TABLE test.t1 (id INT PRIMARY KEY, a INT, KEY plain_idx (a))"
"""The table that the index rules of the vectors are about."""


def check_config(vector: Vector) -> None:
    """`facts.config`: the release knows the key; the default is that of the last release with the key."""
    data = vector.data
    key = keys.key(data["where"], data["name"], vector.release)
    assert key is not None
    assert key.kind in ACCEPTED.get(data.get("accepted", ""), [key.kind])
    if vector.release in {release.architecture: release for release in releases_of(data)}.values():
        assert key.default == data["default"]


ACCEPTED = {
    "bool": ["bool"],
    "list": ["texts"],
    "SQL expression": ["text"],
    "list of TSO": ["ints"],
    "Go duration": ["duration", "text"],
    "list of action codes": ["ints"],
    "list of column names": ["texts"],
    "table-filter rules": ["texts"],
    "column names": ["texts"],
    "array of tables": ["rows"],
    "text": ["text"],
    **dict.fromkeys(("integer", "integer > 0", "integer >= 0"), ["int", "int16", "int32"]),
}
"""What a vector says is accepted → the kinds of value that keys may be of; other words say more than a kind."""


def check_unreleased(vector: Vector) -> None:
    """A key that is in no release: none here knows it."""
    where, name = vector.data["where"], vector.data["name"]
    known = [release.name for of in RELEASES.values() for release in of.values() if keys.key(where, name, release)]
    assert known == []


def check_validation(vector: Vector) -> None:
    """`facts.validation`."""
    data = vector.data
    tables = [create_table(text) for text in data.get("tables", [T1])]
    if data["error"] is None and "error_code" not in data:
        start(data["sink_uri"], data["toml"], tables, vector.release)
        return
    with pytest.raises(ChangefeedError) as caught:
        start(data["sink_uri"], data["toml"], tables, vector.release)
    assert contains(caught.value.text, data["error"] or "")
    assert caught.value.code == data.get("error_code", caught.value.code)


def start(sink_uri: str, toml: str, tables: Sequence[Table], release: Release) -> None:
    """All that TiCDC checks when a changefeed starts: settings, filters, and the rules of the tables that there are."""
    topic = re.search(r" \(topic has (\d+)\)$", sink_uri)
    made = changefeed.load(sink_uri[: topic.start()] if topic else sink_uri, toml, release)
    if topic:
        assert made.kafka.partition_count(made.kafka.partition_num, int(topic.group(1))) == made.kafka.partition_num
    replication(made.rules, made.case_sensitive, made.ignore_txn_start_ts, release)
    check_expressions(event_filters(made.event_filters, release, made.case_sensitive), tables)
    dispatch.verify_tables(dispatch.router(made, release), tables)


# -- filters ------------------------------------------------------------------------------------------------------------

ERROR_CODES = {"CDC:ErrExpressionParseFailed": "CDC:ErrInvalidFilterExpression"}
"""Where a vector calls an error by its variable in Go: the code that users see."""


def check_event_filter(vector: Vector) -> None:
    """`facts.event_filter`."""
    data = vector.data
    if "kind" in data:
        check_name(vector)
    elif data["expected"] == "error":
        with pytest.raises((ChangefeedError, DdlError)) as caught:
            outcome(vector)
        error, (code, text) = caught.value, expected_error(data)
        assert isinstance(error, ChangefeedError | DdlError)
        assert error.code == (ERROR_CODES.get(code, code) or error.code)
        assert contains(error.text, text)
    else:
        assert outcome(vector) == data["expected"]


def expected_error(data: Json) -> tuple[str, str]:
    """Code and text of an error, empty where the vector gives none."""
    code, text = re.findall(r"^(CDC:\w+)?(?:: )?(.*)", data.get("error") or "")[0]
    return data.get("error_code") or code, data.get("error_text") or text


def check_name(vector: Vector) -> None:
    """How a name is kept, and of which kind it is."""
    data = vector.data
    ask = {"name_normalisation": normalize_name, "classify": event_class}[data["kind"]]
    if data["expected"] == "error":
        with pytest.raises(ValueError, match=f"^{re.escape(data['error'])}$"):
            ask(data["input"], vector.release)
    else:
        assert ask(data["input"], vector.release) == data["expected"]


def outcome(vector: Vector) -> str:
    """`send` or `skip`; of settings alone `send`, if they are taken."""
    data = vector.data
    case_sensitive = data.get("case_sensitive", True)
    rules = [{name.replace("-", "_"): _tuple(value) for name, value in each.items()} for each in data["event_filters"]]
    filters = event_filters([EventFilter(**rule) for rule in rules], vector.release, case_sensitive)
    ignored_ts = data.get("ignore_txn_start_ts", ())
    filtered = replication(data.get("rules", ["*.*"]), case_sensitive, ignored_ts, vector.release)
    if "ddl" in data:
        return of_ddl(data["ddl"], filters, filtered, vector.release)
    if "row" in data:
        return of_row(data["row"], filters, filtered)
    check_expressions(filters, [create_table(text) for text in data.get("tables", ())])
    return "send"


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def of_ddl(ddl: Json, filters: EventFilters, filtered: Replication, release: Release) -> str:
    """What TiCDC does with the statement; one that is no whole statement is held against the event filters alone."""
    schema, table, code = ddl["schema"], ddl["table"], ddl["type_code"]
    assert ddl.get("action", Action(code).constant) == Action(code).constant
    old = TableName(ddl.get("old_schema", schema), ddl["old_table"]) if "old_table" in ddl else None
    try:
        parse_job_text(ddl["query"], release)
    except DdlError:
        return "skip" if rule_ignoring_ddl(filters, (schema, table), ddl["query"], code, old) else "send"
    pairs = () if old is None else ((old, TableName(schema, table)),)
    job = Job(code, ddl["query"], None, schema, table, pairs, pairs)
    rules = replace(plain_rules(release), replication=filtered, event_filters=filters)
    found = decide(job, None, None, rules, ddl.get("start_ts", 0))
    if found.error:
        raise found.error
    return "send" if found.outcome == SEND else "skip"


def keeps_ddl(filtered: Replication, code: int, name: tuple[str, str], release: Release, start_ts: int = 0) -> bool:
    """Whether a changefeed without event filters does not discard a statement of that type."""
    job, rules = Job(code, "", None, *name), replace(plain_rules(release), replication=filtered)
    return decide(job, None, None, rules, start_ts).outcome != DISCARD


def of_row(row: Json, filters: EventFilters, filtered: Replication) -> str:
    """A row passes the table filter, the event filters by its kind and by its values."""
    table, kind = table_of(row), row["kind"]
    if not filtered.table(table.schema, table.name, row.get("start_ts", 0)):
        return "skip"
    if rule_ignoring_row(filters, table.schema, table.name, kind):
        return "skip"
    before, after = (image(table, row.get(name)) for name in ("before", "after"))
    return "skip" if rule_ignoring_values(filters, table, before, after) else "send"


def table_of(row: Json) -> Table:
    """The row's table, as it is after `after_ddl`, under the name that the row is of."""
    text = row.get("create_table", f"CREATE TABLE `{row['schema']}`.`{row['table']}` (id INT PRIMARY KEY)")
    table = create_table(text)
    if "after_ddl" in row:
        statement = parse_ddl(row["after_ddl"])
        assert statement is not None
        evolved = behind(statement, row["after_ddl"], build_catalog([table]), table.schema)
        found = evolved.table(table.schema, table.name)
        assert found is not None
        table = found
    return replace(table, schema=row["schema"], name=row["table"])


def image(table: Table, values: Sequence[object] | None) -> bytes | None:
    """A row image of values in table order, NULL for those that are not given."""
    if values is None:
        return None
    missing = len(visible_columns(table)) - len(values)
    return b"\xff".join(b"\xfe" if value is None else str(value).encode() for value in [*values, *[None] * missing])


def check_table_filter(vector: Vector) -> None:
    """`facts.table_filter`."""
    data = vector.data
    if "error" in data:
        with pytest.raises(ChangefeedError) as caught:
            table_filter(data["rules"])
        assert data["error"] in caught.value.text
        assert caught.value.code == (data.get("error_code") or data.get("ticdc_error_code") or caught.value.code)
    elif data["level"] == "library":
        made = table_filter(data["rules"], data["case_sensitive"])
        whole = data.get("kind") == "schema"
        matched = made.match_schema(data["schema"]) if whole else made.match(data["schema"], data["table"])
        assert matched == data["match"]
    else:
        made_ = replication(data["rules"], data["case_sensitive"], data.get("ignore_txn_start_ts", ()), vector.release)
        assert TICDC_KINDS[data.get("kind", "table")](made_, data, vector) == data["match"]


TICDC_KINDS: dict[str, Callable[[Replication, Json, Vector], bool]] = {
    "table": lambda made, data, _: made.table(data["schema"], data["table"]),
    "schema": lambda made, data, _: made.schema(data["schema"]),
    "dml": lambda made, data, _: made.table(data["schema"], data["table"], data["start_ts"]),
    "ddl_discard": lambda made, data, vector: keeps_ddl(
        made, data["type_code"], (data["schema"], data["table"]), vector.release, data["start_ts"]
    ),
}


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
    "facts.rename": Kind(
        check_rename,
        keys_of(
            "rules case_sensitive ddl current_database pairs known_tables known_schemas expected kept_pairs error_code "
            "error_text error_wrapper error_wrapper_releases query_sent queries_sent"
        ),
    ),
    "facts.config": Kind(check_config, keys_of("where name default accepted meaning"), check_unreleased),
    "facts.validation": Kind(check_validation, keys_of("sink_uri toml tables error error_code")),
    "facts.event_filter": Kind(
        check_event_filter,
        keys_of(
            "kind input event_filters case_sensitive rules ignore_txn_start_ts tables when dml_after expected error "
            "error_code error_text",
            ddl=keys_of("schema table query type_code action start_ts old_schema old_table"),
            row=keys_of("schema table kind start_ts create_table after_ddl before after"),
        ),
    ),
    "facts.table_filter": Kind(
        check_table_filter,
        keys_of(
            "rules case_sensitive level kind schema table type_code start_ts ignore_txn_start_ts match error "
            "ticdc_error_code error_code"
        ),
    ),
}
