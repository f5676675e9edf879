"""The storage sink on a real S3 server, that of moto in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from simulator import TiCDC, limits
from simulator.cli import run
from simulator.errors import DeliveryError

pytestmark = pytest.mark.slow

STORY = """CREATE DATABASE shop; USE shop; CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20));
INSERT INTO item VALUES (1, 'pen'); ALTER TABLE item ADD COLUMN price INT; INSERT INTO item VALUES (2, 'cup', 3);"""
SECRET = "topsecret"


@pytest.fixture(name="endpoint", scope="module")
def _endpoint() -> Iterator[str]:
    """The URL of an S3 server with the bucket `lake`."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    fsspec.filesystem("s3", key="key", secret=SECRET, endpoint_url=endpoint).mkdir("lake")
    yield endpoint
    server.stop()


def played(tmp_path: Path, sink_uri: str) -> int:
    (tmp_path / "story.sql").write_text(STORY)
    return run(["run", str(tmp_path / "story.sql"), "--release", "v8.1.0", "--sink-uri", sink_uri])


def uri(endpoint: str, place: str) -> str:
    return f"s3://{place}?protocol=csv&endpoint={endpoint}&access-key=key&secret-access-key={SECRET}"


def test_a_bucket_gets_the_files_that_a_directory_gets(
    tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, uri(endpoint, "lake/cdc")) == 0, capsys.readouterr().err
    assert played(tmp_path, f"{(tmp_path / 'files').as_uri()}?protocol=csv") == 0
    capsys.readouterr()

    assert run(["inspect", uri(endpoint, "lake/cdc")]) == 0
    on_s3 = capsys.readouterr().out
    assert run(["inspect", str(tmp_path / "files")]) == 0

    assert on_s3 == capsys.readouterr().out
    assert "INSERT shop.item id=2 name=cup price=3" in on_s3
    assert run(["compare", uri(endpoint, "lake/cdc"), (tmp_path / "files").as_uri(), "--exact"]) == 0


def test_files_of_a_bucket_have_the_limits_of_local_ones(
    tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert played(tmp_path, uri(endpoint, "lake/large")) == 0, capsys.readouterr().err
    monkeypatch.setattr(limits, "STORED_FILE_BYTES", 200)
    assert run(["inspect", uri(endpoint, "lake/large")]) == 0
    assert "bytes: at most 200 bytes are accepted" in capsys.readouterr().out
    monkeypatch.setattr(limits, "FOREIGN_FILES", 0)
    files = fsspec.filesystem("s3", key="key", secret=SECRET, endpoint_url=endpoint)
    files.pipe_file("lake/large/mine.txt", b"")
    assert run(["inspect", uri(endpoint, "lake/large")]) == 2
    assert "more than 0 files that no changefeed writes, such as 'mine.txt'" in capsys.readouterr().err


def test_a_missing_bucket_is_named_without_the_secret(
    tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, uri(endpoint, "nowhere/cdc")) == 3

    error = capsys.readouterr().err
    assert "s3://nowhere/cdc" in error and "cannot be" in error and SECRET not in error
    assert "Traceback" not in error


def test_a_bucket_that_is_lost_on_the_way_ends_the_run(endpoint: str) -> None:
    files = fsspec.filesystem("s3", key="key", secret=SECRET, endpoint_url=endpoint)
    files.mkdir("lost")
    with pytest.raises(DeliveryError) as ended:
        with TiCDC("v8.1.0", sink_uri=uri(endpoint, "lost/cdc"), databases=("shop",)) as ticdc:
            ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY)")
            files.rm("lost", recursive=True)
            ticdc.execute("INSERT INTO shop.item VALUES (1)")

    (line,) = ended.value.args
    assert line.startswith("sink-uri s3://lost/cdc") and "cannot be" in line and SECRET not in line
    assert "\n" not in line
