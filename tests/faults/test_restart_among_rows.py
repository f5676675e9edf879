"""A restart among the rows of a transaction: the stream keeps the contract and leads to the rows of the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.decode import RowEvent, decode
from simulator.consumer.records import read_records

CANAL, OPEN = "canal-json&enable-tidb-extension=true", "open-protocol"
PROTOCOLS = (CANAL, "canal-json", OPEN, "simple", "debezium")
SCENARIO = """\
sink-uri = "kafka://127.0.0.1:9/shop?protocol={protocol}&partition-num=2"
config = "feed.toml"

[[step]]
sql = '''
CREATE TABLE item (id INT PRIMARY KEY, v INT, code VARCHAR(9) NOT NULL UNIQUE);
INSERT INTO item VALUES (1, 1, 'a'), (2, 1, 'b');
'''

[[step]]
wait = "2s"

[[step]]
sql = '''
INSERT INTO item VALUES (3, 1, 'c');
BEGIN; INSERT INTO item VALUES (4, 1, 'd'), (5, 1, 'e'); UPDATE item SET v = 2, code = CONCAT(code, '!') WHERE id < 4;
DELETE FROM item WHERE id = 1; COMMIT;
'''
fault = {fault}

[[step]]
sql = "UPDATE item SET v = 9"
"""


def scenario(directory: Path, fault: str, protocol: str = CANAL) -> Path:
    (directory / "feed.toml").write_text('[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n')
    file = directory / "restart.toml"
    file.write_text(SCENARIO.replace("{protocol}", protocol).replace("{fault}", fault))
    return file


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("after", [1, 3, 6])
def test_everything_above_the_checkpoint_comes_again(after: int, protocol: str, tmp_path: Path) -> None:
    file = scenario(tmp_path, f'{{ kind = "restart", after-rows = {after} }}', protocol)
    stream, truth = tmp_path / "out", tmp_path / "truth"
    assert play("run", file, "--fixtures", stream, "--truth", truth) == 0
    assert play("verify", stream, "--truth", truth, "--master", "none") in (
        (0,) if protocol in (CANAL, OPEN) else (0, 4)
    )


@pytest.mark.parametrize(
    ("after", "sent"), [(1, ["3"]), (2, ["3", "1"]), (3, ["3", "1", "2"]), (6, ["3", "1", "2", "3", "4", "5"])]
)
def test_so_many_rows_are_sent_before_it(after: int, sent: list[str], tmp_path: Path) -> None:
    """The first is of the transaction before; then the rows of the last one come, here in order of their keys."""
    file = scenario(tmp_path, f'{{ kind = "restart", after-rows = {after} }}', "canal-json")
    (tmp_path / "feed.toml").write_text("")
    file.write_text(file.read_text().replace(", code = CONCAT(code, '!')", ""))
    assert play("run", file, "--fixtures", tmp_path / "out") == 0
    events = [event for one in read_records(str(tmp_path / "out")) for event in decode(one.key, one.value)]
    rows = [event for event in events if isinstance(event, RowEvent)][2:]
    keys = [str((row.after or row.before or {})["id"]) for row in rows]
    assert sorted(keys[:after]) == sorted(sent) or keys[:after] == sent
    assert keys[after : after + 6] == keys[after : after + 1] + keys[after + 1 : after + 6] and keys[after] == "3"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            '{ kind = "restart", after-rows = 7 }',
            "step 3: fault restart: after-rows: the step changes 6 rows, got 7; accepted: 1 to 6",
        ),
        ('{ kind = "restart", after-rows = 0 }', "after-rows: expected a whole number from 1 to 1,000,000, got 0"),
        ('{ kind = "restart", after-rows = "x" }', "after-rows: expected a whole number from 1 to 1,000,000, got 'x'"),
        ('{ kind = "restart" }', "after-rows is missing"),
        ("{ after-rows = 1 }", "kind is missing"),
        ('{ kind = "lose-row", after-rows = 1 }', "kind: expected 'restart'"),
        ('{ kind = "restart", after-rows = 1, after-row = 2 }', "after-row: unknown key. Did you mean 'after-rows'?"),
        ('"restart"', "a fault after the SQL has a [[step]] of its own"),
    ],
)
def test_mistakes_are_a_line_before_anything_is_sent(
    fault: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play("run", scenario(tmp_path, fault), "--fixtures", tmp_path / "out") == 2
    said = [line for line in capfd.readouterr().err.splitlines() if not line.endswith("…")]
    assert len(said) == 1 and words in said[0]
    assert not (tmp_path / "out").exists()


def test_a_fault_of_its_own_is_no_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "alone.toml"
    file.write_text(
        "[[step]]\nsql = 'CREATE TABLE t (id INT PRIMARY KEY)'\n[[step]]\nfault = {kind = 'restart', after-rows = 1}\n"
    )
    assert play("run", file, "--console") == 2
    assert "step 2: fault: " in capfd.readouterr().err
