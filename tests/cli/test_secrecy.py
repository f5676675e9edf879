"""Passwords and keys stand in no message, no warning and no summary, wherever in a command line they were written."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.playing import play, said

from simulator.errors import mask_secrets, uri_without_secrets
from simulator.reader.truth_metadata import hide_secrets
from simulator.sinks.external_storage import read_claim_check, write_claim_checks
from simulator.ticdc.codecs import large_messages
from simulator.ticdc.codecs.row_changes import StoredFile

HUSH = "hush0hush"
NUMBER = 40404041
"""A password that somebody forgot to quote in TOML."""

KAFKA = "kafka://127.0.0.1:1/shop?protocol=canal-json&enable-tidb-extension=true"
LOGIN = f"sasl-mechanism=PLAIN&sasl-user=u&sasl-password={HUSH}"


def test_of_a_uri_messages_show_where_it_leads() -> None:
    """Neither user, password nor parameters; where a URI is broken, rather too little."""
    shown = {
        "kafka://u:pw@h:1,i:2/t?protocol=canal-json": "kafka://***@h:1,i:2/t",
        "kafka://u:p/w@h:1/t": "kafka://***@h:1/t",
        "kafka://u:p?w@h:1/t": "kafka://***@h:1/t",
        "kafka://h:1/t?sasl-user=a@b&sasl-password=pw": "kafka://h:1/t",
        "s3://bucket/prefix?secret-access-key=x": "s3://bucket/prefix",
        "file:///tmp/here": "file:///tmp/here",
    }
    assert {uri: uri_without_secrets(uri) for uri in shown} == shown


def test_in_any_text_secrets_are_hidden_and_the_rest_is_left() -> None:
    hidden = {
        "sasl-password=pw&enable-tls=true": "sasl-password=***&enable-tls=true",
        "sasl%2Dpassword=pw": "sasl%2Dpassword=***",
        "'kafka://h/t?secret-access-key=a b': no": "'kafka://h/t?secret-access-key=***': no",
        "no kafka:/u:pw@h/t here": "no kafka:/***@h/t here",
        "ca=/a.pem&cert=/b.pem&key=/c.key": "ca=/a.pem&cert=/b.pem&key=/c.key",
        "kafka://h:1/t is fine, ask a@b": "kafka://h:1/t is fine, ask a@b",
    }
    assert {text: mask_secrets(text) for text in hidden} == hidden
    assert {text: mask_secrets(mask_secrets(text)) for text in hidden} == hidden


def test_a_truth_says_how_the_stream_was_made_and_no_secret(here: Path) -> None:
    config = f"""[sink.kafka-config]
sasl-password = "{HUSH}"
sasl-oauth-client-secret = '{HUSH}'
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "file:///tmp/x?secret-access-key={HUSH}"
"""
    told = hide_secrets(config)
    assert HUSH not in told
    assert told.replace("***", HUSH) == config
    Path("story.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY)")
    Path("feed.toml").write_text(config[: config.index("sasl-oauth")])
    uri = f"{KAFKA}&{LOGIN}"
    assert play("run", "story.sql", "--at", "0s", "--sink-uri", uri, "--config", "feed.toml", "--truth", "truth") == 0
    assert HUSH not in Path("truth/truth.json").read_text()


@pytest.mark.slow
def test_however_long_a_word_is_it_is_searched_once() -> None:
    """Not from each of its characters on, which would take minutes."""
    long = "9" * 1_000_000
    assert (long, f"{long}-password=***") == (mask_secrets(long), mask_secrets(f"{long}-password={HUSH}"))


@given(st.text(max_size=6), st.text(max_size=6), st.sampled_from(["sasl-password", "sasl-pasword", "account-key"]))
def test_whatever_a_password_holds_it_is_hidden(before: str, after: str, name: str) -> None:
    password = f"{before}{HUSH}{after}".encode("utf-8", "surrogatepass")
    uri = f"kafka://u:{quote(password, safe='')}@h:1/t?{name}={quote_plus(password)}&a=b"

    assert HUSH not in mask_secrets(f"{uri} is no topic to read") + uri_without_secrets(uri)


CLAIMS = """[sink.kafka-config.large-message-handle]
large-message-handle-option = 'claim-check'
claim-check-storage-uri = """
TOMLS = {
    "unquoted": f"[sink.kafka-config]\nsasl-password = {NUMBER}",
    "listed": f"[sink.kafka-config]\nsasl-oauth-client-secret = ['{HUSH}']",
    "glued": f"[sink]\nkafka-config = 'sasl-password={HUSH}'",
    "conflict": "[sink.kafka-config]\nsasl-password = 'other'",
    "base64": f"[sink.kafka-config]\nsasl-mechanism = 'OAUTHBEARER'\nsasl-oauth-client-secret = '{HUSH}'",
    "idle": f"[sink.kafka-config]\nsasl-gssapi-password = '{HUSH}'\nsasl-gssapi-user = 'u'",
    "pulsar": f"[sink.pulsar-config]\nauthentication-token = '{HUSH}'\nbasic-password = {NUMBER}",
    "glue": f"[sink.kafka-config.glue-schema-registry-config]\nsecret-access-key = '{HUSH}'",
    "s3": f"{CLAIMS}'s3://bucket/p?access-key={HUSH}&secret-access-key={HUSH}&endpoint=http://127.0.0.1:1'",
    "ftp": f"{CLAIMS}'ftp://u:{HUSH}@127.0.0.1:1/p'",
    "nonesuch": f"{CLAIMS}'nonesuch://u:{HUSH}@h/p?account-key={HUSH}'",
    "storage": f"[sink.kafka-config.large-message-handle]\nclaim-check-storage-uri = ['s3://b/p?secret={HUSH}']",
    "redo": f"[consistent]\nstorage = ['s3://b/p?secret-access-key={HUSH}']",
}
SCENARIOS = {
    "list": f"sink-uri = ['{KAFKA}&{LOGIN}']",
    "key": f"sink-url = '{KAFKA}&{LOGIN}'",
    "run": f"sink-uri = '{KAFKA}&{LOGIN}'\n[[step]]\nsnapshot = 'BEFORE'\n[[step]]\nsnapshot = 'AFTER'",
}
URIS = (
    f"kafka://u:{HUSH}@127.0.0.1:1/t",
    f"kafka://u:pa/{HUSH}@127.0.0.1:1/t",
    f"kafka://u:{HUSH}?x@127.0.0.1:1/t",
    f"kafka://u:{HUSH}#x@127.0.0.1:1/t",
    f"{KAFKA}&{LOGIN}",
    f"{KAFKA}&{LOGIN}&insecure-skip-verify=true",
    f"{KAFKA}&{LOGIN}#fragment",
    f"{KAFKA}&{LOGIN}&sasl-password=other",
    f"{KAFKA}&sasl%2Dpassword={HUSH}",
    f"{KAFKA}&sasl-pasword={HUSH}",
    f"{KAFKA}&enable-tls=true;sasl-password={HUSH}",
    f"{KAFKA}&partition-num=3 sasl-password={HUSH}",
    f"kafka://127.0.0.1:1?sasl-password={HUSH}",
    f"kafka://127.0.0.1:1/a b?sasl-password={HUSH}",
    f"kafka:127.0.0.1:1/t?sasl-password={HUSH}",
    f"kafka://[::1/t?sasl-password={HUSH}",
    f"mysql://root:{HUSH}@127.0.0.1:1/?ssl-ca=x",
    f"http://u:{HUSH}@h/t?password={HUSH}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots, every TOML, every scenario."""
    home = tmp_path_factory.mktemp("secrets")
    for name, row in (("BEFORE", "1\n"), ("AFTER", "2\n")):
        (home / name).mkdir()
        (home / name / "shop.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);")
        (home / name / "shop.t.csv").write_text(row)
    for name, text in TOMLS.items():
        (home / f"{name}.toml").write_text(text)
    for name, text in SCENARIOS.items():
        (home / f"{name}.scenario").write_text(text)
    return home


def commands() -> list[list[str]]:
    schema = ["--schema", "BEFORE/shop.t-schema.sql"]
    diff = ["diff", "BEFORE", "AFTER", "--summary", "summary.json"]
    lines = [
        *(["inspect", uri] for uri in URIS),
        *([*diff, "--sink-uri", uri] for uri in URIS),
        *(["explain", "row", '{"after": {"id": 1}}', *schema, "--sink-uri", uri] for uri in URIS),
        *([*diff, "--sink-uri", f"{KAFKA}&{LOGIN}", "--config", f"{name}.toml"] for name in TOMLS),
        *(["run", f"{name}.scenario"] for name in SCENARIOS),
    ]
    misplaced = f"{KAFKA}&{LOGIN}"
    return lines + [
        [misplaced],
        ["diff", "BEFORE", "AFTER", misplaced],
        ["diff", misplaced, "AFTER", "--sink-uri", KAFKA],
        ["run", misplaced],
        ["inspect", "--limit", misplaced],
        ["explain", misplaced],
        ["explain", "row", misplaced, *schema],
        ["explain", "ddl", misplaced],
        [*diff, "--sink-uri", KAFKA, "--config", misplaced],
        [*diff, "--sink-uri", KAFKA, "--start-ts", misplaced],
        [*diff, "--sink-uri", KAFKA, "--release", misplaced],
        [*diff, "--sink-uri", KAFKA, "--over", misplaced],
        [*diff, f"--sink-url={misplaced}"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", commands(), ids=lambda arguments: " ".join(arguments).replace(HUSH, "*"))
def test_no_secret_is_said(arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is wrong, and whatever is not."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # S3's driver tries five times by default
    monkeypatch.chdir(folder)
    code, out, err = said(*arguments)
    text = "".join((out, *err, *(path.read_text() for path in folder.glob("summary.json"))))
    assert code in (0, 2, 3)
    assert HUSH not in text and str(NUMBER) not in text


def test_the_address_of_a_stored_message_holds_no_password() -> None:
    """It stands in messages; who has the storage's own URI reads the file."""
    uri = f"memory://u:{HUSH}@h/claims?account-key={HUSH}"
    write_claim_checks(uri, [StoredFile("a.json", b"{}")])
    location = f"{large_messages.storage_uri(uri)}/a.json"

    assert ("memory://h/claims/a.json", b"{}") == (location, read_claim_check(location, uri))
