"""The requests of the page's script: what they answer, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.openapi import URI, Served

from simulator import TiCDC
from simulator.files import parse_toml

CLAIM_CHECK = """
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "file:///tmp/there"
"""
ITEM = "CREATE TABLE test.item (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE);"


def test_a_script_is_answered_up_to_its_first_error(served: Served) -> None:
    """Statement by statement, with TiDB's numbers; an error that the script announces does not end it."""
    answers = served.run(
        f"{ITEM} INSERT INTO item VALUES (1, 'a'), (2, NULL); SELECT * FROM item;\n"
        "-- fails 1062\nINSERT INTO item VALUES (1, 'b'); SELECT nothing; SELECT 1"
    )

    assert [answer["sql"].split()[0] for answer in answers] == ["CREATE", "INSERT", "SELECT", "INSERT", "SELECT"]
    assert answers[1]["told"] == "OK, 2 rows affected. Records: 2  Duplicates: 0  Warnings: 0"
    assert (answers[2]["columns"], answers[2]["rows"]) == (["id", "name"], [["1", "a"], ["2", None]])
    assert (answers[3]["error"]["number"], answers[3]["expected"]) == (1062, True)
    text = "Unknown column 'nothing' in 'field list'"
    assert answers[4]["error"] == {"number": 1054, "state": "42S22", "text": text}


def test_what_an_error_leaves_out_is_counted(served: Served) -> None:
    body = {"session": "one", "sql": "SELECT 1; SELECT nothing; SELECT 2; SELECT 3", "tidbs": [0]}

    assert served.post("/ui/sql", **body)["left"] == 2
    assert served.post("/ui/sql", **{**body, "sql": "SELECT 1"})["left"] == 0


def test_what_is_no_script_is_an_error_of_tidb(served: Served) -> None:
    (answer,) = served.run("SELECT 'open")

    assert answer["error"]["number"] == 1064


def test_a_session_keeps_its_transaction_until_its_page_is_gone(served: Served) -> None:
    served.run(f"{ITEM} BEGIN; INSERT INTO item VALUES (1, 'a')", session="one")

    assert served.run("SELECT * FROM item", session="one")[0]["rows"] == [["1", "a"]]
    assert served.run("SELECT * FROM item", session="two")[0]["rows"] == []


def test_a_binary_value_is_shown_in_hexadecimal_digits(served: Served) -> None:
    assert served.run("SELECT X'00ff', 'é', NULL")[0]["rows"] == [["0x00ff", "é", None]]


def test_an_insert_is_seen_in_the_stream_with_its_lane(served: Served) -> None:
    served.run(f"{ITEM} INSERT INTO item VALUES (1, 'a'); UPDATE item SET name = 'b'; DELETE FROM item")

    lines = [line for line in served.messages(until="id=1 name=b") if line["k"] != "WATERMARK"]

    assert [line["k"] for line in lines] == ["DDL", "INSERT", "DELETE", "INSERT", "DELETE"]
    assert [line["text"] for line in lines][1:3] == ["test.item id=1 name=a"] * 2
    assert lines[2]["ts"] == lines[3]["ts"], "an UPDATE of a key is two messages of one commit"
    assert {(line["t"], line["p"]) for line in lines} <= {("ticdc", partition) for partition in range(3)}


def test_a_message_has_its_bytes_its_event_and_the_reasons(served: Served) -> None:
    served.run(f"{ITEM} INSERT INTO item VALUES (1, 'a'); UPDATE item SET name = 'b'")
    lines = served.messages(until="name=b")
    ddl, insert, half = (
        next(line["n"] for line in lines if text in line["text"]) for text in ("CREATE", "id=1 name=a", "id=1 name=b")
    )

    message = served.get("/ui/message", tidb=0, changefeed="default", number=insert)
    assert bytes.fromhex(message["value"]["hex"]).decode() == message["value"]["text"]
    assert '"data":[{"id":"1","name":"a"}]' in message["value"]["text"]
    assert message["events"][0]["after"] == {"id": "1", "name": "a"}
    assert "handle key   id" in message["why"][0]
    assert "why          rule *.* of filter.rules" in message["why"][0]

    split = served.get("/ui/message", tidb=0, changefeed="default", number=half)["why"][0]
    assert "split        TiCDC sends this UPDATE as DELETE and INSERT, since name changes:" in split
    assert "decision     sent" in served.get("/ui/message", tidb=0, changefeed="default", number=ddl)["why"][0]


def test_a_message_that_nobody_can_read_says_why(served: Served) -> None:
    served.run(f"{ITEM} CALL ticdc.fault('corrupt-json'); INSERT INTO item VALUES (1, 'a')")
    line = next(line for line in served.messages(until="not a canal-json message") if line["k"] == "UNREADABLE")

    message = served.get("/ui/message", tidb=0, changefeed="default", number=line["n"])

    assert message["unreadable"].startswith("not a canal-json message")
    assert (message["events"], message["why"]) == ([], [])


def test_a_changefeed_begins_where_the_history_does(served: Served) -> None:
    """One with another protocol is sent all that was committed, and what differs is told."""
    served.run(f"{ITEM} INSERT INTO item VALUES (1, 'a')")
    made = create(served, "second", "open-protocol", options="max-batch-size=1")

    lines = [line for line in served.messages("0/second/0", "id=1") if line["k"] != "WATERMARK"]
    assert made == {"name": "second", "warnings": []}
    assert sorted({line["k"] for line in lines}) == ["DDL", "INSERT"]
    told = served.get("/ui/compare", a="0/default", b="0/second")
    assert [(each["a"], each["what"]) for each in told["differences"]] == [(None, ""), (None, "")]
    assert told["what"] == "in what the messages say"


def create(served: Served, name: str, protocol: str, **fields: object) -> object:
    given = {"partitions": 3, "options": "", "config": "", "history": True, **fields}
    return served.post("/ui/changefeed/create", tidb=0, name=name, protocol=protocol, **given)


def test_two_changefeeds_of_one_protocol_are_alike_but_for_their_options(served: Served) -> None:
    served.run(f"{ITEM} INSERT INTO item VALUES (1, 'a')")
    create(served, "same", "canal-json", options="enable-tidb-extension=true")
    create(served, "other", "canal-json", options="enable-tidb-extension=true", config="[filter]\nrules = ['a.*']")
    served.run("INSERT INTO item VALUES (2, 'b')")

    same = served.get("/ui/compare", a="0/default", b="0/same")
    other = served.get("/ui/compare", a="0/default", b="0/other")

    assert (same["count"], same["events"]) == (0, 3)
    assert (other["count"], {each["b"] for each in other["differences"]}) == (3, {None})


def test_a_changefeed_is_paused_resumed_and_removed(served: Served) -> None:
    create(served, "second", "open-protocol")

    def state() -> dict[str, str]:
        feeds = served.get("/ui/state")["tidbs"][0]["changefeeds"]
        return {feed["name"]: feed["state"] for feed in feeds}

    assert state() == {"default": "normal", "second": "normal"}
    served.post("/ui/changefeed/pause?tidb=0&changefeed=second")
    assert state()["second"] == "stopped"
    served.post("/ui/changefeed/resume?tidb=0&changefeed=second")
    assert state()["second"] == "normal"
    served.post("/ui/changefeed/remove?tidb=0&changefeed=second")
    assert state() == {"default": "normal"}


def test_a_fresh_tidb_of_another_release_has_the_same_sql_and_the_same_times(served: Served) -> None:
    """What fails on one of them only is told beside the answer of the first."""
    served.run(f"{ITEM} INSERT INTO item VALUES (1, 'a'); UPDATE item SET name = 'b'")
    made = served.post("/ui/tidbs", architecture="classic", release="v6.5.3", like=0, changefeed="default")["id"]
    served.run("INSERT INTO item VALUES (2, 'c')", 0, made)

    streams = [served.messages(f"{tidb}/default/0", "name=c") for tidb in (0, made)]

    kinds = [[line["k"] for line in lines if line["k"] != "WATERMARK"] for lines in streams]
    times = [{line["ts"] for line in lines if line["k"] not in ("WATERMARK", "DDL")} for lines in streams]
    assert kinds == [["DDL", "INSERT", "DELETE", "INSERT", "INSERT"], ["DDL", "INSERT", "UPDATE", "INSERT"]]
    assert times[0] == times[1]
    tidbs = served.get("/ui/state")["tidbs"]
    assert [(tidb["id"], tidb["release"]) for tidb in tidbs] == [(0, "v8.5.3"), (made, "v6.5.3")]


def test_a_fresh_tidb_has_the_time_zone_of_the_first(serve: Callable[..., Served]) -> None:
    served = serve(tz="Asia/Shanghai")
    served.run(
        "CREATE TABLE test.t (id INT PRIMARY KEY, at TIMESTAMP); INSERT INTO t VALUES (1, '2025-01-01 00:00:00')"
    )
    made = served.post("/ui/tidbs", architecture="classic", release="v8.5.2", like=0, changefeed="default")["id"]

    assert served.get("/ui/compare", a="0/default", b=f"{made}/default")["count"] == 0
    assert "2025-01-01 08:00:00" in served.messages(f"{made}/default/0", "id=1")[-1]["text"]


def test_the_protocols_of_a_release_can_be_chosen(served: Served) -> None:
    """Each is a changefeed whose messages are read."""
    served.run(
        "CREATE TABLE test.t (id INT PRIMARY KEY, e ENUM('a', 'b'), b VARBINARY(9)); INSERT INTO t VALUES (1, 'a', X'ff')"
    )
    protocols = served.get("/ui/state")["tidbs"][0]["protocols"]
    assert protocols == ["open-protocol", "canal-json", "debezium", "simple", "avro", "maxwell"]

    for protocol in protocols:
        registry = "schema-registry=http://127.0.0.1:1" if protocol == "avro" else ""
        create(served, protocol, protocol, options=registry)
        line = next(line for line in served.messages(f"0/{protocol}/0", "id=1") if "id=1" in line["text"])
        assert line["k"] == "INSERT", protocol
        message = served.get("/ui/message", tidb=0, changefeed=protocol, number=line["n"])
        assert "handle key   id" in message["why"][0], protocol


def test_an_answer_elsewhere_is_told_where_it_differs(served: Served) -> None:
    made = served.post("/ui/tidbs", architecture="new", release="v8.5.4", like=0, changefeed="default")["id"]

    (answer,) = served.run("SELECT VERSION()", 0, made)

    assert answer["rows"] == [["8.0.11-TiDB-v8.5.3"]]
    assert [each["rows"] for each in answer["elsewhere"]] == [[["8.0.11-TiDB-v8.5.4"]]]


def test_a_scenario_of_the_library_is_opened_with_its_release_and_changefeed(served: Served) -> None:
    opened = served.post("/ui/open", library="pk-update", fresh=True)
    served.run(opened["sql"], opened["tidb"])

    lines = served.messages(f"{opened['tidb']}/{opened['changefeed']}/0", "id=3 name=bob")

    assert {line["t"] for line in lines} == {"keys"}
    assert "BATCH" in {line["k"] for line in lines} or "DELETE" in {line["k"] for line in lines}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("sink-uri = 'file:///tmp/there?protocol=csv'", "may not write there"),
        ("release = 'v1'", "v1"),
        ("sink-uri = 'kafka://h/t?protocol=none'", "none"),
    ],
)
def test_a_scenario_that_would_write_files_is_not_opened(served: Served, settings: str, why: str) -> None:
    body = {"name": "a.toml", "text": f"{settings}\n[[step]]\nsql = 'SELECT 1'", "fresh": True}

    status, document = served.ask("POST", "/ui/open", body)

    assert (status, why in document["error"]) == (400, True), document
    assert len(served.get("/ui/state")["tidbs"]) == 1


def test_a_changefeed_of_the_page_reads_and_writes_no_files(served: Served) -> None:
    fields = {"tidb": 0, "name": "a", "protocol": "canal-json", "partitions": 3, "options": "", "history": True}
    for config in (CLAIM_CHECK, "[filter]\nrules = ['@/etc/passwd']"):
        status, document = served.ask("POST", "/ui/changefeed/create", {**fields, "config": config})
        assert (status, document["error"][:8], ":1:" in document["error"]) == (400, "[CDC:Err", False), document


def test_what_was_run_is_saved_played_and_opened_again(served: Served, tmp_path: Path) -> None:
    served.run(f"{ITEM} CALL ticdc.wait('2s'); INSERT INTO item VALUES (1, 'it''s')")

    (story,) = served.get("/ui/save", tidb=0, changefeed="default", format="sql", name="a")["files"]
    (scenario,) = served.get("/ui/save", tidb=0, changefeed="default", format="toml", name="a")["files"]

    assert story[0] == ".sql"
    assert story[1].splitlines()[1:] == ["CALL ticdc.wait('2s');", "INSERT INTO item VALUES (1, 'it''s');"]
    (file := tmp_path / "a.toml").write_text(scenario[1])
    with TiCDC(sink_uri=URI) as ticdc:
        ticdc.play(file)
        assert ticdc.rows("test.item") == [{"id": 1, "name": "it's"}]
    opened = served.post("/ui/open", name="a.toml", text=scenario[1], fresh=False)
    assert opened["sql"].split() == story[1].split()


SECRETS = """
[sink]
schema-registry = "http://me:SECRET@registry:8081"
[sink.kafka-config]
sasl-user = "me"
sasl-password = "SECRET"
"""


def test_what_is_saved_tells_no_secret(serve: Callable[..., Served]) -> None:
    """Neither of a sink-uri, also of the command line, nor of a changefeed.toml; what has none is saved as it is."""
    served = serve(sink_uri=f"{URI}&sasl-user=me&sasl-password=SECRET")
    create(served, "keeps", "canal-json", config="# mine\n[filter]\nrules = ['a.*']")
    create(served, "hides", "avro", options="sasl-password=SECRET", config=SECRETS)

    saved = {
        name: dict(served.get("/ui/save", tidb=0, changefeed=name, format="toml", name="a")["files"])
        for name in ("default", "keeps", "hides")
    }

    assert "SECRET" not in str(saved)
    assert "sasl-password=xxxxx&sasl-user=me" in saved["default"][".toml"]
    assert saved["keeps"]["-changefeed.toml"] == "# mine\n[filter]\nrules = ['a.*']\n"
    assert parse_toml(saved["hides"]["-changefeed.toml"]) == {
        "sink": {
            "schema-registry": "http://me:xxxxx@registry:8081",
            "kafka-config": {"sasl-user": "me", "sasl-password": "******"},
        }
    }


def test_a_page_that_watches_hears_of_a_commit_of_another_client(served: Served) -> None:
    served.run(ITEM)

    lines = served.messages("0/default/0", "CREATE")

    assert lines[-1]["ts"].isdigit()


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("/ui/sql", {"session": "one", "sql": "SELECT 1", "tidbs": [7]}, "there is no TiDB 7 any more"),
        ("/ui/sql", {"session": "one", "sql": 1, "tidbs": [0]}, "sql: missing, or not of the right type"),
        ("/ui/sql", [], "session, sql, tidbs: missing"),
        ("/ui/open", {"library": "none", "fresh": False}, "no scenario 'none'"),
        ("/ui/open", {"name": "a.toml", "text": "[[step]]\nsnapshot='/etc'", "fresh": False}, "a page plays SQL"),
        ("/ui/tidbs", {"architecture": "classic", "release": "v1", "like": 0, "changefeed": "default"}, "v1"),
        ("/ui/changefeed/fly?tidb=0&changefeed=default", {}, "unknown act 'fly'"),
        ("/ui/changefeed/pause?tidb=0&changefeed=none", {}, "CDC:ErrChangeFeedNotExists"),
    ],
)
def test_what_cannot_be_done_is_said(served: Served, path: str, body: object, why: str) -> None:
    status, document = served.ask("POST", path, body)

    assert status == 400
    assert why in document["error"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("message", "tidb: missing"),
        ("message?tidb=x&changefeed=default&number=0", "tidb: a number is expected, got 'x'"),
        ("message?tidb=0&changefeed=default&number=1e3", "number: a number is expected, got '1e3'"),
        (f"message?tidb=0&changefeed=default&number={'9' * 5000}", "number: a number is expected"),
        ("message?tidb=0&changefeed=default&number=99999", "is not kept"),
        ("compare?a=0/default", "b: missing"),
        ("save?tidb=0&changefeed=default", "format: missing"),
        ("events?stream=0/none/0", "CDC:ErrChangeFeedNotExists"),
        ("events?stream=9/default/0", "there is no TiDB 9"),
        ("events?stream=0/default/-1", "stream: a number is expected, got '-1'"),
        ("events?stream=x", "tidb: a number is expected, got ''"),
    ],
)
def test_what_is_not_there_is_refused_in_words(served: Served, path: str, why: str) -> None:
    status, document = served.ask("GET", f"/ui/{path}")

    assert (status, why in document["error"]) == (400, True), document


def test_an_error_tells_no_secret(served: Served) -> None:
    fields = {"tidb": 0, "name": "a", "protocol": "canal-json", "partitions": 3, "config": "", "history": True}

    for option in ("sasl-password=SECRET&max-batch-size=x", "max-batch-size=http://me:SECRET@h"):
        status, document = served.ask("POST", "/ui/changefeed/create", {**fields, "options": option})
        assert (status, "SECRET" in str(document)) == (400, False), document


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 200_000, b"1" * 5000])
def test_a_body_that_is_no_json_is_refused(served: Served, body: bytes) -> None:
    status, document = served.ask("POST", "/ui/sql", body)

    assert (status, document["error"][:21]) == (400, "the body is not JSON:")


def test_a_key_that_ticdc_ignores_is_told(served: Served) -> None:
    made = create(served, "a", "canal-json", config="[filter]\nruls = ['a.*']")

    assert "unknown key 'ruls'" in str(made)


def test_options_that_ticdc_refuses_are_refused(served: Served) -> None:
    fields = {
        "tidb": 0,
        "name": "a",
        "protocol": "canal-json",
        "partitions": 3,
        "options": "max-batch-size=x",
        "config": "",
    }
    status, document = served.ask("POST", "/ui/changefeed/create", {**fields, "history": True})

    assert (status, "max-batch-size" in document["error"]) == (400, True)


TEXTS = st.sampled_from(
    [
        "",
        "a",
        "a b",
        "a?b#c",
        "\0",
        "\ud800",
        "default",
        "v8.5.3",
        "new",
        "canal-json",
        "x=1&y=\0",
        "a.toml",
        "sql = 'x'",
    ]
)
VALUES = TEXTS | st.booleans() | st.none() | st.sampled_from([0, 1, -1, 1 << 70, 1.5, (), (0,), ("a",), {}])
KNOWN = {
    "/ui/sql": ("session", "sql", "tidbs"),
    "/ui/open": ("library", "name", "text"),
    "/ui/tidbs": ("architecture", "release", "like", "changefeed"),
    "/ui/changefeed/create": ("tidb", "name", "protocol", "partitions", "options", "config", "history"),
}
FITS = {
    "tidbs": st.just([0]),
    "like": st.just(0),
    "tidb": st.just(0),
    "partitions": st.just(3),
    "history": st.booleans(),
}


@pytest.mark.parametrize("path", KNOWN)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_body_has_an_answer_or_an_error(served: Served, path: str, data: st.DataObject) -> None:
    """Texts in their places are the rule, as other values are refused before they do anything."""
    kinds = {name: FITS.get(name, TEXTS) for name in KNOWN[path]}
    body = data.draw(st.fixed_dictionaries(kinds) | st.fixed_dictionaries({}, optional=dict.fromkeys(kinds, VALUES)))

    status, document = served.ask("POST", path, {"fresh": False, **body})

    assert (status == 200) != bool(document.get("error"))
    assert status in (200, 400)


def test_a_page_elsewhere_is_refused(served: Served) -> None:
    """By its Origin, by a Host that is not ours, and by a body that a form may send without asking."""
    body = {"session": "one", "sql": "SELECT 1", "tidbs": [0]}

    assert served.ask("POST", "/ui/sql", body, {"Origin": "http://evil.example"})[0] == 403
    assert served.ask("GET", "/", headers={"Host": "evil.example:8300"})[0] == 403
    assert served.ask("POST", "/ui/sql", body, {"content-type": "text/plain"})[0] == 400
    assert served.ask("POST", "/ui/sql", body, {"Origin": served.url})[0] == 200


def test_the_page_may_load_nothing_from_elsewhere(served: Served) -> None:
    for path in ("/", "/ui/page.js", "/ui/page.css", "/ui/state"):
        status, _ = served.ask("GET", path)
        assert status == 200
        assert served.headers["content-security-policy"].startswith("default-src 'self'")
    _, page = served.ask("GET", "/")
    assert "http://" not in page
    assert "https://" not in page
