"""What consumers make of streams with restarts in them, held against the truth by `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.consumers import Consumer, WithoutDedupe, WithoutDeleteFirst, WithoutOrder, consumed
from support.playing import play

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
    return home / "out", home / "truth"


def verified(capsys: pytest.CaptureFixture[str], truth: Path, found: Path) -> tuple[int, Any]:
    """Exit code and findings of `verify --truth --against`."""
    capsys.readouterr()
    code = play("verify", "--truth", truth, "--against", found, "--json")
    return code, json.loads(capsys.readouterr().out)


def test_the_example_consumer_has_what_the_truth_has(
    stream: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixtures, truth = stream
    consumed(Consumer, fixtures, 3).write(tmp_path / "found", truth)
    code, found = verified(capsys, truth, tmp_path / "found")
    assert (code, found) == (0, found)
    assert play("verify", fixtures, "--truth", truth) == 0


@pytest.mark.parametrize(("kind", "said"), [
    (WithoutDedupe, {("row-missing", "shop.ready")}),
    (WithoutOrder, {("row-missing", "shop.item")}),
    (WithoutDeleteFirst, {("row-missing", "shop.item")}),
])
def test_what_a_consumer_without_it_has_is_told_from_the_truth(
    stream: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: type,
    said: set[tuple[str, str]],
) -> None:
    fixtures, truth = stream
    consumed(kind, fixtures, 3).write(tmp_path / "found", truth)
    code, found = verified(capsys, truth, tmp_path / "found")
    assert code == 1
    print(json.dumps(found, indent=1))
    assert said <= set()
