"""A file of the user is never overwritten: no input of the command, and nothing that ticdc-sim did not write."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.playing import said

PLAN = """
rows-per-second = 100
[[table]]
definition = "CREATE TABLE shop.t (id INT PRIMARY KEY)"
rows = 2
mix = {inserts = 1}
"""
KAFKA = "kafka://h:1/t?protocol=canal-json"
LOAD = "load plan.toml --console --duration 1ms"
RUN = "run s.sql --console"
CONFIGURED = f"{RUN} --config feed.toml"


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with other names for it, SQL, a changefeed.toml, a scenario, fixtures with their truth, a snapshot."""
    monkeypatch.chdir(tmp_path)
    files = {
        "plan.toml": PLAN,
        "s.sql": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);",
        "feed.toml": "case-sensitive = true\n",
        "play.toml": '[[step]]\nsql-file = "s.sql"\n[[step]]\nsnapshot = "before"\n',
        "before/test.t-schema.sql": "CREATE TABLE t (id INT PRIMARY KEY);",
        "before/test.t.csv": "id\n1\n",
        "before/metadata": "Written by: ticdc-sim run\n",
        "notes.txt": "mine",
        "empty": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    os.link("plan.toml", "hard.toml")
    os.symlink("plan.toml", "soft.toml")
    os.link("before/test.t.csv", "hard.csv")
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"{LOAD} --summary plan.toml", "--summary plan.toml is the plan of this command"),
        (f"{LOAD} --report ./../{{here}}/plan.toml", "plan.toml is the plan of this command"),
        (f"{LOAD} --report hard.toml", "--report hard.toml is the plan of this command"),
        (f"{LOAD} --summary soft.toml", "--summary soft.toml is the plan of this command"),
        (f"{LOAD} --config feed.toml --report feed.toml", "--report feed.toml is --config of this command"),
        (f"{RUN} --summary s.sql", "--summary s.sql is the scenario of this command"),
        (f"{CONFIGURED} --summary feed.toml", "--summary feed.toml is --config of this command"),
        ("run play.toml --console --summary play.toml", "--summary play.toml is the scenario of this command"),
        ("run play.toml --console --summary s.sql", "--summary s.sql is a file of SQL of this command"),
        ("run play.toml --console --summary before/test.t.csv", "lies in a snapshot, before, and would"),
        ("run play.toml --console --summary hard.csv", "--summary hard.csv is a file of a snapshot, before"),
        ("diff before before --console --ddl s.sql --summary s.sql", "is a file of statements of this command"),
        ("diff before before --fixtures out --truth before", "--truth before is a snapshot of this command"),
        ("diff before before --fixtures before", "--fixtures before is a snapshot of this command"),
        (f"diff before before --sink-uri {KAFKA} --checkpoint before", "--checkpoint before is a snapshot"),
        ("diff before before --sink-uri file://{cwd}/before?protocol=csv", "is a snapshot of this command"),
        ("run play.toml --fixtures .", "holds the scenario"),
        ("verify before --report before/test.t.csv", "lies in SOURCE, before, and would become a part of it"),
        ("diff before before --console --summary before/new.json", "lies in a snapshot, before, and would become"),
        ("diff before before --fixtures before/../before/out", "lies in a snapshot, before, and would become"),
        ("diff before before --console --truth before/truth", "lies in a snapshot, before, and would become"),
        ("diff before before --sink-uri file://{cwd}/before/x?protocol=csv", "lies in a snapshot, before, and would"),
        ("verify before --report before/new.html", "lies in SOURCE, before, and would become a part of it"),
        ("verify file://{cwd}/before?protocol=csv --report before/new.html", "lies in SOURCE, "),
        ("verify x --after before --report before/sub/new.html", "lies in --after, before, and would become"),
        ("verify x --truth before --against before --report before/new.html", "lies in --truth, before, and would"),
        ("verify before --truth truth --report plan.toml --config plan.toml", "is --config of this command"),
        ("verify before --after before --report hard.csv", "--report hard.csv is a file of"),
        ("serve --config feed.toml --data feed.toml", "--data feed.toml is --config of this command"),
    ],
)
def test_no_input_is_overwritten_not_even_by_force(line: str, says: str, folder: Path) -> None:
    before = content(folder)
    arguments = line.format(here=folder.name, cwd=folder).split()
    for force in ([], ["--force"])[: 1 if arguments[0] == "serve" else 2]:
        code, _, lines = said(*arguments, *force)
        assert (code, [says in line for line in lines if line.startswith("ticdc-sim: ")]) == (2, [True]), lines
    assert content(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("line", [f"{LOAD} --summary", f"{LOAD} --report", f"{RUN} --summary"])
def test_a_file_of_somebody_else_is_replaced_by_force_only(line: str) -> None:
    arguments = line.split()
    refused = said(*arguments, "notes.txt")
    assert refused.code == 2
    assert "notes.txt is a file that ticdc-sim did not write: give another name, or --force" in refused.err[-1]
    assert Path("notes.txt").read_text() == "mine"
    for more in (["notes.txt", "--force"], ["notes.txt"], ["empty"], ["new"]):  # the second is a file of its own
        assert said(*arguments, *more).code == 0, more


@pytest.mark.slow
def test_a_dash_is_standard_output_for_json() -> None:
    """Tables for people go to standard error then; a file of that name is `./-`."""
    for command in ("run s.sql --fixtures out", "load plan.toml --fixtures load --master none --duration 1s"):
        code, out, err = said(*command.split(), "--summary", "-")
        assert code == 0 and json.loads(out)["messages"] > 0 and " row change" in "".join(err)
    assert not Path("-").exists()
    assert said("run", "s.sql", "--fixtures", "out", "--summary", "./-").code == 0
    assert json.loads(Path("-").read_text())["rows"] == 1
