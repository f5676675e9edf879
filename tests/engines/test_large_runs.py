"""Large messages and column selectors from the shell: files beside the fixtures, equal runs, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.playing import assert_contract, play

from simulator.consumer.decode import RowEvent, decode
from simulator.consumer.records import read_records
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "CREATE TABLE `{}` (`id` varchar(2000) PRIMARY KEY, `v` longtext, `secret` int);\n"
URI = "kafka://127.0.0.1:1/shop?protocol={}&max-message-bytes=700&partition-num=2"
LARGE = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = '{}'\n"


def snapshots(directory: Path, key: str = "k", schema: str = SCHEMA) -> tuple[Path, Path]:
    """Two tables with some long rows: inserted, updated and deleted."""
    found = directory / "before", directory / "after"
    for number, state in enumerate(found):
        state.mkdir()
        for table in ("t", "s"):
            (state / f"shop.{table}-schema.sql").write_text(schema.format(table))
            rows = (f"{key}{row},{text(row, number)},{number}\n" for row in range(number * 9, 30 + number * 9))
            (state / f"shop.{table}.csv").write_text("".join(rows))
    return found


def text(row: int, number: int) -> str:
    """Up to 2,400 characters that no compression makes much shorter."""
    parts = (hashlib.sha256(f"{row} {number} {part}".encode()).hexdigest() for part in range(row % 4 * 12))
    return "".join(parts)


def config(directory: Path, text: str) -> Path:
    path = directory / "changefeed.toml"
    path.write_text(text)
    return path


def test_claim_check_stores_equal_files_at_any_parallelism_and_leads_to_the_state_after(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of two tasks and of one process."""
    before, after = snapshots(tmp_path)
    stores = tmp_path / "store"
    toml = LARGE.format("claim-check") + "large-message-handle-compression = 'snappy'\n"
    toml += f"claim-check-storage-uri = 'file://{stores}'\n"
    uri, made = URI.format("open-protocol"), []
    arguments = ["diff", before, after, "--sink-uri", uri, "--config", config(tmp_path, toml), "--seed", "5"]
    assert play(*arguments, "--fixtures", tmp_path / "two") == 0
    made.append({path.name: path.read_bytes() for path in stores.iterdir()})
    assert_contract(read_records(str(tmp_path / "two")), load(uri, toml), {"shop": 2}, before, after)

    stores.rename(tmp_path / "first")
    assert play(*arguments, "--fixtures", tmp_path / "one", "--master", "none") == 0
    made.append({path.name: path.read_bytes() for path in stores.iterdir()})
    assert made[0] == made[1] and len(made[0]) > 10
    for path in (tmp_path / "one").rglob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("file:///dev/null/x", "file:///dev/null/x cannot be written to: Not a directory"),
        (
            "nope://bucket",
            "nope://bucket cannot be opened: Protocol not known: nope; accepted: file:///directory, s3://",
        ),
        ("gs://bucket/x", "gs://bucket/x cannot be opened: Please install gcsfs to access Google Storage"),
    ],
)
def test_a_storage_that_does_not_do_ends_the_run_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], storage: str, words: str
) -> None:
    toml = f"{LARGE.format('claim-check')}claim-check-storage-uri = '{storage}'\n"
    said = refused(tmp_path, capsys, toml)
    assert said.startswith(f"ticdc-sim: claim-check-storage-uri {words}")


def test_handle_key_only_and_force_replicate_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So a table without handle key never gets that far."""
    schema = "CREATE TABLE `{}` (`id` varchar(2000), `v` longtext, `secret` int);\n"
    assert refused(tmp_path, capsys, f"force-replicate = true\n{LARGE.format('handle-key-only')}", schema) == (
        "ticdc-sim: [CDC:ErrCodecInvalidConfig] force-replicate must be disabled, when the large message handle is "
        'enabled, large message handle: "handle-key-only"'
    )
    assert "no primary key and no unique key of NOT NULL columns: shop.s, shop.t" in refused(
        tmp_path, capsys, LARGE.format("handle-key-only"), schema
    )


def test_selectors_that_leave_no_key_are_refused_when_the_run_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['v']}]\n"
    words = "[CDC:ErrColumnSelectorFailed] no primary key columns or unique key columns"
    assert words in refused(tmp_path, capsys, toml)


def refused(directory: Path, capsys: pytest.CaptureFixture[str], toml: str, schema: str = SCHEMA) -> str:
    """The one line that `diff` says; no fixtures are left."""
    inputs = directory / str(len(list(directory.iterdir())))
    inputs.mkdir()
    arguments = [*snapshots(inputs, schema=schema), "--config", config(inputs, toml), "--fixtures", inputs / "out"]
    assert play("diff", *arguments, "--sink-uri", URI.format("open-protocol")) == 2
    assert sorted(path.name for path in inputs.iterdir()) == ["after", "before", "changefeed.toml"]
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …")]
    assert len(lines) == 1
    return lines[0]


def test_a_handle_key_that_is_still_too_large_is_ticdcs_error(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "[CDC:ErrMessageTooLarge] message is too large. table:" in refused_keys(tmp_path, capsys)


def refused_keys(directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    before, after = snapshots(directory, "k" * 900)
    toml = config(directory, LARGE.format("handle-key-only"))
    uri = URI.format("open-protocol")
    assert play("diff", before, after, "--sink-uri", uri, "--config", toml, "--fixtures", directory / "out") == 2
    assert not (directory / "out").exists()
    return capsys.readouterr().err


def test_column_selectors_keep_columns_out_of_every_message(spark: SparkSession, tmp_path: Path) -> None:
    """Tables that no selector matches stay whole."""
    before, after = snapshots(tmp_path)
    toml = config(tmp_path, "[sink]\ncolumn-selectors = [{matcher = ['shop.t'], columns = ['*', '!secret']}]\n")
    uri = URI.format("canal-json").replace("700", "99999")
    assert play("diff", before, after, "--sink-uri", uri, "--config", toml, "--fixtures", tmp_path / "out") == 0
    columns: dict[str, set[tuple[str, ...]]] = {"t": set(), "s": set()}
    for record in read_records(str(tmp_path / "out")):
        for event in decode(record.key, record.value):
            if isinstance(event, RowEvent):
                images = (image for image in (event.before, event.after) if image is not None)
                columns[event.table] |= {tuple(image) for image in images}
    assert columns == {"t": {("id", "v")}, "s": {("id", "v", "secret")}}
