"""Which options of `verify` may be combined, how a stream was made, and which truths are of another run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simulator.errors import UserError
from simulator.reader.records import Record
from simulator.reader.truth_metadata import Truth, TruthMetadata
from simulator.reader.verify.options import VerifyOptions, check_options
from simulator.reader.verify.origin import ProtocolEvidence, inspect_records, resolve_origin

OPEN = Record("t", 0, 0, 0, bytes(7) + b"\1" + bytes(7) + b"\x19" + b'{"ts":455000614502400000,"t":3}', bytes(8))
CANAL = Record(
    "t",
    0,
    1,
    0,
    None,
    (
        b'{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK","es":1,"ts":1,"sql":"",'
        b'"sqlType":null,"mysqlType":null,"data":null,"old":null,"_tidb":{"watermarkTs":455000614502400000}}'
    ),
)
FOREIGN = Record("t", 0, 2, 0, None, b"hello")
URI = "kafka://127.0.0.1:9092/t?protocol=canal-json&enable-tidb-extension=true"
TRUTH = TruthMetadata("run", "bank", "v6.5.6", "classic", URI, "", {"t": 1}, 1, 2, 2, ())


def settings(
    asked: VerifyOptions, truth: TruthMetadata | None = None, shows: ProtocolEvidence = ProtocolEvidence(Counter())
) -> dict[str, str]:
    return {
        setting.name: f"{setting.value} by {setting.told_by}"
        for setting in resolve_origin(asked, truth, shows).settings
    }


def test_the_first_messages_show_the_protocol() -> None:
    assert inspect_records([FOREIGN, CANAL]).protocol == "canal-json"
    assert inspect_records([OPEN, FOREIGN]).protocol == "open-protocol"
    assert inspect_records([FOREIGN]) == ProtocolEvidence(
        Counter(), unrecognised=inspect_records([FOREIGN]).unrecognised
    )
    assert inspect_records([FOREIGN]).unrecognised.startswith("t/0@2 is neither ")


def test_options_precede_the_truth_and_the_truth_precedes_the_stream() -> None:
    shows = inspect_records([CANAL])

    assert settings(VerifyOptions("out"), None, shows)["protocol"] == "canal-json by the stream"
    assert settings(VerifyOptions("out"), None, shows)["release"] == "v8.5.3 (classic) by the default"
    told = settings(VerifyOptions("out"), TRUTH, shows)
    assert (told["protocol"], told["release"]) == ("canal-json by the truth", "v6.5.6 (classic) by the truth")
    told = settings(VerifyOptions("out", sink_uri=URI, release="v7.5.3"), TRUTH, shows)
    assert (told["sink-uri"], told["release"]) == (f"{URI} by --sink-uri", "v7.5.3 (classic) by --release")
    assert settings(VerifyOptions(URI), None, shows)["protocol"] == "canal-json by SOURCE"


def test_dispatchers_of_an_unknown_changefeed_are_not_checked() -> None:
    found = resolve_origin(VerifyOptions("out"), None, inspect_records([CANAL]))

    assert not found.known
    assert [each.what for each in found.not_checked] == ["the sizes of messages", "what releases do differently"]
    assert resolve_origin(VerifyOptions("out"), TRUTH, inspect_records([CANAL])).not_checked == ()


def test_a_stream_of_another_protocol_is_rejected() -> None:
    with pytest.raises(
        UserError,
        match="^t is the truth of another run: that one wrote canal-json, and the messages of out are open-protocol$",
    ):
        resolve_origin(VerifyOptions("out", truth=Path("t")), TRUTH, inspect_records([OPEN]))
    with pytest.raises(UserError, match="^--sink-uri says canal-json, and the messages of out are open-protocol$"):
        resolve_origin(VerifyOptions("out", sink_uri=URI), None, inspect_records([OPEN]))


def test_an_unknown_protocol_must_be_given() -> None:
    with pytest.raises(UserError, match="^out has no records, which leaves its protocol open: --sink-uri or --truth"):
        resolve_origin(VerifyOptions("out"), None, inspect_records([]))
    with pytest.raises(UserError, match="^the protocol of out cannot be told: t/0@2 is neither .*; --sink-uri or "):
        resolve_origin(VerifyOptions("out"), None, inspect_records([FOREIGN]))
    assert resolve_origin(VerifyOptions("out"), TRUTH, inspect_records([])).protocol == "canal-json"


def test_secrets_of_a_sink_uri_are_not_shown() -> None:
    uri = f"{URI}&sasl-password=very-secret"

    assert "very-secret" not in settings(VerifyOptions("out", sink_uri=uri), None, inspect_records([CANAL]))["sink-uri"]


# -- options

TOPIC = "kafka://127.0.0.1:9092/bank"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (VerifyOptions(), "nothing to verify: give SOURCE"),
        (VerifyOptions(truth=Path("t")), "nothing to verify: give SOURCE"),
        (VerifyOptions("out", truth=Path("t"), after="a"), "--truth and --after both say which rows are expected"),
        (VerifyOptions("out", against="mine"), "--against DIR is held against what should be there: give --truth DIR"),
        (VerifyOptions(truth=Path("t"), against="mine", follow=True), "--follow is about a stream: give SOURCE"),
        (VerifyOptions(truth=Path("t"), against="mine", before="b"), "--before is about a stream: give SOURCE"),
        (VerifyOptions("out", jdbc_driver=Path("x.jar")), "--jdbc-driver is for --against jdbc:"),
        (VerifyOptions("out", until=5), "--until says what --follow waits for: give --follow, too"),
        (VerifyOptions("out", follow=True, until=5), "out is a directory: only kafka://host:port/topic"),
        (VerifyOptions(TOPIC, follow=True), "--follow waits for the final watermark, and nothing says which"),
    ],
)
def test_wrong_combinations_are_rejected_before_anything_is_read(options: VerifyOptions, why: str) -> None:
    with pytest.raises(UserError) as refused:
        check_options(options)

    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        VerifyOptions("out"),
        VerifyOptions(TOPIC, follow=True, until=5),
        VerifyOptions(TOPIC, follow=True, truth=Path("t")),
        VerifyOptions(truth=Path("t"), against="mine"),
        VerifyOptions("out", truth=Path("t"), before="b", against="mine"),
        VerifyOptions(after="a", against="jdbc:x", jdbc_driver=Path("x.jar")),
    ],
)
def test_other_combinations_are_accepted(options: VerifyOptions) -> None:
    check_options(options)


# -- truths of another run

START, END = 455000614502400000, 455000619746590720
ABOUT = Truth(
    "run", "bank", "v8.5.3", "classic", URI, "", {"bank": 4, "log": 1}, START, END, END, (), directory=Path("truth")
)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"shop": 3}, "that one wrote to bank, log, and these are messages of shop"),
        ({"bank": 4}, "that one wrote to log, too, which SOURCE does not have"),
        ({"bank": 4, "log": 1, "shop": 1}, "that one did not write to shop, which SOURCE has"),
        ({"bank": 6, "log": 1}, "that one wrote to 4 partitions of bank, which has 6"),
    ],
)
def test_other_topics_are_those_of_another_run(found: dict[str, int], why: str) -> None:
    with pytest.raises(UserError) as refused:
        ABOUT.check_topics(found)

    assert str(refused.value) == f"truth is the truth of another run: {why}"


def test_fixtures_may_lack_empty_partitions() -> None:
    ABOUT.check_topics({"bank": 2, "log": 1})


@pytest.mark.parametrize(("first", "last"), [(START - 9, START - 1), (END + 1, END + 9)])
def test_rows_of_another_time_are_those_of_another_run(first: int, last: int) -> None:
    """Only if all rows are of another time; some may be caused by a fault. Some messages tell a millisecond alone."""
    with pytest.raises(UserError, match="truth is the truth of another run: that one lasted from 455000614502400000 "):
        ABOUT.check_times(first, last)
    ABOUT.check_times(START - 9, END + 9)
    ABOUT.check_times(START, START)


def test_rows_of_other_tables_are_those_of_another_run() -> None:
    with pytest.raises(UserError, match="that one has bank.account, and these are rows of shop.a, shop.b"):
        ABOUT.check_tables([("bank", "account")], [("shop", "b"), ("shop", "a")])
    ABOUT.check_tables([("bank", "account")], [("bank", "account"), ("shop", "a")])
    ABOUT.check_tables([("bank", "account")], [])
