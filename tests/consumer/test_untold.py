"""Right streams of which something is not told: nothing that only an assumption decides is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import RIGHT, UNPROVED, WRONG, Verification

STORIES = {
    "update": "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5); UPDATE t SET v = 6",
    "truncate": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); TRUNCATE t; INSERT INTO t VALUES (1)",
    "scale": "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(10, 2), at DATETIME); INSERT INTO t VALUES (1, 2, NOW()); "
    "ALTER TABLE t MODIFY d DECIMAL(12, 4); ALTER TABLE t MODIFY at DATETIME(3); INSERT INTO t VALUES (2, 1, NOW())",
    "unique": "CREATE TABLE t (a INT NOT NULL UNIQUE); INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE a = 1",
    "rename": "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a.t (id INT PRIMARY KEY); INSERT INTO a.t VALUES (1); "
    "USE a; RENAME TABLE t TO b.t; DELETE FROM b.t",
    "renames": "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a.t (id INT PRIMARY KEY); CREATE TABLE b.t LIKE a.t; "
    "INSERT INTO a.t VALUES (1); USE a; RENAME TABLE t TO b.u; DELETE FROM b.u",
    "renamed rows": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); RENAME TABLE t TO u; "
    "INSERT INTO u VALUES (3); DELETE FROM u WHERE id = 2; CREATE TABLE t LIKE u; INSERT INTO t VALUES (3)",
    "bytes": "CREATE TABLE t (id INT PRIMARY KEY, b BINARY(4)); INSERT INTO t VALUES (1, x'00ff')",
    "enum": "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x', 'y')); INSERT INTO t VALUES (1, 'y')",
}
REGISTRY = "&schema-registry=http://127.0.0.1:8081"
WATERMARKS = "&partition-num=2&enable-tidb-extension=true&avro-enable-watermark=true"
TRUTH, AFTER, NOTHING = "truth", "after", ""


@pytest.mark.parametrize(
    ("story", "protocol", "release", "given", "verdict"),
    [
        ("update", "open-protocol", "v4.0.4", NOTHING, UNPROVED),
        ("update", "open-protocol", "v4.0.4", AFTER, UNPROVED),
        ("update", "open-protocol", "v4.0.4", TRUTH, RIGHT),
        ("update", "canal-json&partition-num=2", "v5.3.0", NOTHING, UNPROVED),
        ("update", "open-protocol", "v6.5.6", AFTER, RIGHT),
        ("truncate", "debezium", "v8.5.3", AFTER, UNPROVED),
        ("update", "debezium", "new:v8.5.7", AFTER, RIGHT),
        ("scale", f"avro{REGISTRY}", "v8.5.3", TRUTH, RIGHT),
        ("unique", f"avro{REGISTRY}", "new:v8.5.7", TRUTH, UNPROVED),
        ("unique", f"avro{REGISTRY}", "new:v8.5.7", AFTER, UNPROVED),
        ("unique", f"avro{REGISTRY}{WATERMARKS}", "new:v8.5.8", TRUTH, UNPROVED),
        ("unique", f"avro{REGISTRY}", "v8.5.3", TRUTH, RIGHT),
        ("rename", "open-protocol", "v6.5.6", TRUTH, RIGHT),
        ("rename", "debezium", "v8.5.3", TRUTH, RIGHT),
        ("rename", "open-protocol", "new:v8.5.7", TRUTH, RIGHT),
        ("renames", "open-protocol", "v8.5.3", TRUTH, UNPROVED),
        ("enum", "canal-json", "new:v8.5.7", AFTER, None),
        ("bytes", "canal-json", "v5.3.0", TRUTH, UNPROVED),
        ("renamed rows", f"avro{REGISTRY}&partition-num=2&enable-tidb-extension=true", "new:v8.5.8", TRUTH, UNPROVED),
        ("renamed rows", f"avro{REGISTRY}{WATERMARKS}", "new:v8.5.8", TRUTH, UNPROVED),
        ("renamed rows", f"avro{REGISTRY}{WATERMARKS}", "new:v8.5.8", NOTHING, UNPROVED),
    ],
)
def test_a_right_stream_is_not_wrong(
    story: str, protocol: str, release: str, given: str, verdict: str | None, tmp_path: Path
) -> None:
    recorded(story, protocol, release, tmp_path, verdict is None)

    found = verified(tmp_path, given)

    assert found.verdict == (RIGHT if verdict is None else verdict), (found.failures, found.unproved)


def test_what_no_release_writes_is_wrong(tmp_path: Path) -> None:
    """Though nobody tells the release."""
    recorded("update", "canal-json&enable-tidb-extension=true", "v8.5.3", tmp_path)
    for path in (tmp_path / "out").rglob("*.jsonl"):
        kept = [line for line in path.read_text().splitlines() if '"UPDATE' not in line.replace("\\", "")]
        lines = (json.dumps(json.loads(line) | {"offset": number}) for number, line in enumerate(kept))
        path.write_text("".join(f"{line}\n" for line in lines))

    found = verified(tmp_path, AFTER)

    assert (found.verdict, {each.check for each in found.failures}) == (WRONG, {"row-different"})


def recorded(story: str, protocol: str, release: str, home: Path, stored: bool = False) -> None:
    (home / "story.sql").write_text(STORIES[story], "utf-8")
    architecture, _, tag = release.rpartition(":")
    uri = f"file://{home}/out?protocol={protocol}&enable-tidb-extension=true" if stored else ""
    arguments = ["--sink-uri", uri or f"kafka://127.0.0.1:9092/t?protocol={protocol}", "--truth", home / "truth"]
    arguments += [] if stored else ["--fixtures", home / "out"]
    code = play("run", home / "story.sql", "--release", tag, "--architecture", architecture or "classic", *arguments)
    assert code == 0


def verified(home: Path, given: str) -> Verification:
    options = {TRUTH: {"truth": home / "truth"}, AFTER: {"after": str(home / "truth")}, NOTHING: {}}[given]
    return verify(VerifyOptions(str(home / "out"), master="none", **options))  # type: ignore[arg-type]
