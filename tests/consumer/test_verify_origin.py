"""How a stream was made follows from the options, the truth, or its messages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simulator.consumer.records import Record
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.origin import ProtocolEvidence, inspect_records, resolve_origin
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
TRUTH = TruthMetadata("run", "bank", "v6.5.6", "classic", URI, "", {"t": 1}, 1, 2, 2, ())


def settings(
    asked: VerifyOptions, truth: TruthMetadata | None = None, shows: ProtocolEvidence = ProtocolEvidence(Counter())
) -> dict[str, str]:
    return {
        setting.name: f"{setting.value} by {setting.told_by}"
        for setting in resolve_origin(asked, truth, shows).settings
    }


def test_the_first_messages_show_the_protocol() -> None:
    """Foreign messages are skipped."""
    assert inspect_records([FOREIGN, CANAL]).protocol == "canal-json"
    assert inspect_records([OPEN, FOREIGN]).protocol == "open-protocol"
    assert inspect_records([FOREIGN]) == ProtocolEvidence(
        Counter(), unrecognised=inspect_records([FOREIGN]).unrecognised
    )
    assert inspect_records([FOREIGN]).unrecognised.startswith("t/0@2 is neither ")


def test_options_precede_the_truth_and_the_truth_precedes_the_stream() -> None:
    """Each setting has its source."""
    shows = inspect_records([CANAL])

    assert settings(VerifyOptions("out"), None, shows)["protocol"] == "canal-json by the stream"
    assert settings(VerifyOptions("out"), None, shows)["release"] == "v8.5.3 (classic) by the default"
    told = settings(VerifyOptions("out"), TRUTH, shows)
    assert (told["protocol"], told["release"]) == ("canal-json by the truth", "v6.5.6 (classic) by the truth")
    told = settings(VerifyOptions("out", sink_uri=URI, release="v7.5.3"), TRUTH, shows)
    assert (told["sink-uri"], told["release"]) == (f"{URI} by --sink-uri", "v7.5.3 (classic) by --release")
    assert settings(VerifyOptions(URI), None, shows)["protocol"] == "canal-json by SOURCE"


def test_dispatchers_of_an_unknown_changefeed_are_not_checked() -> None:
    """The report lists this as not checked."""
    found = resolve_origin(VerifyOptions("out"), None, inspect_records([CANAL]))

    assert not found.known
    assert [each.what for each in found.not_checked] == ["the sizes of messages", "what releases do differently"]
    assert resolve_origin(VerifyOptions("out"), TRUTH, inspect_records([CANAL])).not_checked == ()


def test_a_stream_of_another_protocol_is_rejected() -> None:
    """The error names both protocols."""
    with pytest.raises(
        UserError,
        match="^t is the truth of another run: that one wrote canal-json, and the messages of out are open-protocol$",
    ):
        resolve_origin(VerifyOptions("out", truth=Path("t")), TRUTH, inspect_records([OPEN]))
    with pytest.raises(UserError, match="^--sink-uri says canal-json, and the messages of out are open-protocol$"):
        resolve_origin(VerifyOptions("out", sink_uri=URI), None, inspect_records([OPEN]))


def test_an_unknown_protocol_must_be_given() -> None:
    """This holds for an empty stream and for one of foreign messages."""
    with pytest.raises(UserError, match="^out has no records, which leaves its protocol open: --sink-uri or --truth"):
        resolve_origin(VerifyOptions("out"), None, inspect_records([]))
    with pytest.raises(UserError, match="^the protocol of out cannot be told: t/0@2 is neither .*; --sink-uri or "):
        resolve_origin(VerifyOptions("out"), None, inspect_records([FOREIGN]))
    assert resolve_origin(VerifyOptions("out"), TRUTH, inspect_records([])).protocol == "canal-json"


def test_secrets_of_a_sink_uri_are_not_shown() -> None:
    """Others may read a report."""
    uri = f"{URI}&sasl-password=very-secret"

    assert "very-secret" not in settings(VerifyOptions("out", sink_uri=uri), None, inspect_records([CANAL]))["sink-uri"]
