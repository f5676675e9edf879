"""What consumers make of streams with restarts in them, held against the truth by `verify`."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.java_programs import Change, Flink, Row, only, upserted
from support.playing import play, said

from simulator.reader import truth_metadata
from simulator.reader.records import read_records

FILE = Path(__file__).parent.parent.parent / "scenarios" / "consumer" / "consumer.py"

STORY = """
release = "{release}"
sink-uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
config = "changefeed.toml"

[[step]]
sql = '''
CREATE DATABASE shop; USE shop;
CREATE TABLE item (id BIGINT PRIMARY KEY, code VARCHAR(20) NOT NULL UNIQUE, stock INT);
CREATE TABLE draft (id BIGINT PRIMARY KEY, code VARCHAR(20) NOT NULL UNIQUE, stock INT);
INSERT INTO item VALUES (1, 'a', 5), (2, 'b', 6), (3, 'c', 7), (4, 'd', NULL);
INSERT INTO draft VALUES (1, 'x', 1), (2, 'say "y", twice', 1);
UPDATE item SET stock = stock - 1;
UPDATE item SET code = CONCAT(code, code);
UPDATE item SET stock = stock - 1 WHERE id < 4;
UPDATE item SET code = LEFT(code, 1);
RENAME TABLE draft TO ready;
'''

[[step]]
fault = "restart"

[[step]]
sql = '''
INSERT INTO shop.ready VALUES (3, 'z', 1);
DELETE FROM shop.item WHERE id = 3;
'''
"""
BY_CODE = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "columns", columns = ["code"]}]\n'


@pytest.fixture(scope="module", params=["v8.5.3", "new:v8.5.4"])
def stream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Fixtures and the truth of them."""
    home = tmp_path_factory.mktemp("stream")
    tag = str(request.param)
    (home / "story.toml").write_text(STORY.format(release=tag.removeprefix("new:")))
    (home / "changefeed.toml").write_text(BY_CODE)
    architecture = ("--architecture", "new") if tag.startswith("new:") else ()
    assert play("run", home / "story.toml", *architecture, "--fixtures", home / "out", "--truth", home / "truth") == 0
    assert truth_metadata.read(home / "truth").architecture == ("new" if architecture else "classic")
    return home / "out", home / "truth"


def verified(truth: Path, found: Path) -> tuple[int, dict[str, dict[str, int]]]:
    """Exit code of `verify --truth --against`, and how often each check failed, by table."""
    code, out, _ = said("verify", "--truth", truth, "--against", found, "--json")
    return code, {failure["check"]: failure["tables"] for failure in json.loads(out)["failures"]}


def example() -> Any:
    """The class of the example consumer, whose module lies outside of every package."""
    specification = importlib.util.spec_from_file_location("example_consumer", FILE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["example_consumer"] = module
    specification.loader.exec_module(module)
    return module.Consumer


Consumer = example()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "wrong"),
    [
        ({}, {}),
        ({"is_new": lambda *_: True, "identity": lambda *_: object()}, {"row-missing": {"shop.ready": 2}}),
        ({"order": lambda self, event: Consumer.order(self, event)[1:]}, {"row-different": {"shop.item": 2}}),
        ({"order": lambda self, event: Consumer.order(self, event)[:2]}, {"row-missing": {"shop.item": 2}}),
    ],
    ids=["nothing", "recognizing what comes again", "the order of commit-ts", "DELETEs before INSERTs"],
)
def test_what_a_consumer_has_that_does_without_a_part_is_told_from_the_truth(
    stream: tuple[Path, Path], tmp_path: Path, without: dict[str, Any], wrong: dict[str, dict[str, int]]
) -> None:
    """A statement that was applied twice, an old row over a new one, a new row that its own DELETE took away. It reads
    one partition after the other, as fetches from Kafka do."""
    fixtures, truth = stream
    consumer = type("Without", (Consumer,), without)(3)
    for record in read_records(str(fixtures)):
        consumer.handle(record.partition, record.key or b"", record.value or b"")
    consumer.write(tmp_path / "found", truth)
    assert verified(truth, tmp_path / "found") == (1 if wrong else 0, wrong)
    assert without or play("verify", fixtures, "--truth", truth) == 0


CANAL = """
sink-uri = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=2"

[[step]]
sql = '''
CREATE DATABASE shop; USE shop;
CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8, 2));
INSERT INTO item VALUES (1, 'tea', 2.50), (2, 'milk', 1), (3, NULL, 7);
'''

[[step]]
sql = '''
UPDATE shop.item SET price = price + 1;
UPDATE shop.item SET id = id + 10 WHERE id = 2;
DELETE FROM shop.item WHERE id = 3;
'''

[[step]]
fault = "restart"
"""
FLINK = {"id": "BIGINT", "name": "STRING", "price": "DECIMAL(8, 2)"}


@pytest.fixture
def of_flink(flink: Flink, tmp_path: Path) -> list[Change]:
    """The changelog of a Flink table that reads a stream with a restart in it."""
    (tmp_path / "story.toml").write_text(CANAL)
    assert play("run", tmp_path / "story.toml", "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth") == 0
    messages = [each.value for each in read_records(str(tmp_path / "out")) if b'"isDdl":false' in (each.value or b"")]
    return flink.read(FLINK, [value for value in messages if value], **only("shop", "item"))


def write_snapshot(directory: Path, truth: Path, rows: Iterable[Row]) -> Path:
    """As a sink of Flink for CSV writes them."""
    directory.mkdir()
    shutil.copy(truth / "shop.item-schema.sql", directory)
    lines = (",".join(r"\N" if cell is None else cell for cell in row) + "\n" for row in rows)
    (directory / "shop.item.csv").write_text("id,name,price\n" + "".join(lines))
    return directory


@pytest.mark.interop
def test_a_flink_table_with_a_primary_key_has_what_the_truth_has(of_flink: list[Change], tmp_path: Path) -> None:
    """One that counts rows has more: without a key what comes again is there twice, or was never there when it is
    taken back."""
    found = write_snapshot(tmp_path / "found", tmp_path / "truth", upserted(of_flink, [0]))
    assert verified(tmp_path / "truth", found) == (0, {})
    counted: Counter[Row] = Counter()
    for kind, row in of_flink:
        counted[row] += 1 if kind in ("+I", "+U") else -1
    found = write_snapshot(tmp_path / "counted", tmp_path / "truth", counted.elements())
    assert verified(tmp_path / "truth", found) == (1, {"row-twice": {"shop.item": 2}})
