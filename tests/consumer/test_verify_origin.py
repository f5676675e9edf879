"""How a stream was made: by the user's word, the truth's, or its own messages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simulator.consumer.records import Record
from simulator.consumer.truth_metadata import TruthAbout
from simulator.consumer.verify.options import Asked
from simulator.consumer.verify.origin import Seen, origin, seen
from simulator.errors import UserError

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
TRUTH = TruthAbout("run", "bank", "v6.5.6", "classic", URI, "", {"t": 1}, 1, 2, 2, ())


def settings(asked: Asked, truth: TruthAbout | None = None, shows: Seen = Seen(Counter())) -> dict[str, str]:
    return {setting.name: f"{setting.value} by {setting.told_by}" for setting in origin(asked, truth, shows).settings}


def test_the_first_messages_show_the_protocol_whatever_lies_between_them() -> None:
    """Foreign ones are passed over."""
    assert seen([FOREIGN, CANAL]).protocol == "canal-json"
    assert seen([OPEN, FOREIGN]).protocol == "open-protocol"
    assert seen([FOREIGN]) == Seen(Counter(), True, seen([FOREIGN]).stranger)
    assert seen([FOREIGN]).stranger.startswith("t/0@2 is neither ")


def test_the_users_word_goes_before_the_truths_and_that_before_the_streams() -> None:
    """Of each setting it is said who told it."""
    shows = seen([CANAL])

    assert settings(Asked("out"), None, shows)["protocol"] == "canal-json by the stream"
    assert settings(Asked("out"), None, shows)["release"] == "v8.5.3 (classic) by the default"
    told = settings(Asked("out"), TRUTH, shows)
    assert (told["protocol"], told["release"]) == ("canal-json by the truth", "v6.5.6 (classic) by the truth")
    told = settings(Asked("out", sink_uri=URI, release="v7.5.3"), TRUTH, shows)
    assert (told["sink-uri"], told["release"]) == (f"{URI} by --sink-uri", "v7.5.3 (classic) by --release")
    assert settings(Asked(URI), None, shows)["protocol"] == "canal-json by SOURCE"


def test_a_changefeed_that_nobody_described_leaves_its_dispatchers_open() -> None:
    """And that is said, not passed over."""
    found = origin(Asked("out"), None, seen([CANAL]))

    assert not found.known
    assert [each.what for each in found.not_checked] == ["the sizes of messages", "what releases do differently"]
    assert origin(Asked("out"), TRUTH, seen([CANAL])).not_checked == ()


def test_a_stream_of_another_protocol_is_another_runs() -> None:
    """What is said, and what is there."""
    with pytest.raises(
        UserError,
        match="^t is the truth of another run: that one wrote canal-json, and the messages of out are open-protocol$",
    ):
        origin(Asked("out", truth=Path("t")), TRUTH, seen([OPEN]))
    with pytest.raises(UserError, match="^--sink-uri says canal-json, and the messages of out are open-protocol$"):
        origin(Asked("out", sink_uri=URI), None, seen([OPEN]))


def test_a_protocol_that_nothing_tells_has_to_be_given() -> None:
    """By an empty stream, or by one of others' messages."""
    with pytest.raises(UserError, match="^out has no records, which leaves its protocol open: --sink-uri or --truth"):
        origin(Asked("out"), None, seen([]))
    with pytest.raises(UserError, match="^the protocol of out cannot be told: t/0@2 is neither .*; --sink-uri or "):
        origin(Asked("out"), None, seen([FOREIGN]))
    assert origin(Asked("out"), TRUTH, seen([])).protocol == "canal-json"


def test_secrets_of_a_sink_uri_are_not_shown() -> None:
    """A report is for others, too."""
    uri = f"{URI}&sasl-password=very-secret"

    assert "very-secret" not in settings(Asked("out", sink_uri=uri), None, seen([CANAL]))["sink-uri"]
