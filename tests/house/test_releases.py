"""Any tag of TiCDC is found, has the behaviours of its line, and says which rows the simulator can make."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.vectors.ddl import keeps_ddl

import simulator
from simulator.errors import UserError
from simulator.releases import DEFAULT, RELEASES, V8_5, find
from simulator.releases.behaviour import TAGS
from simulator.ticdc.rules import is_system, replication

SHOWING = {"releases", "explain", "cli", "api", "page"}
"""Rooms that may name an architecture."""


def test_every_tag_of_both_architectures_is_there() -> None:
    """From v4.0.0 to v8.5.8, and the new architecture from v8.5.4, its betas and later versions."""
    classic, new = list(RELEASES["classic"]), list(RELEASES["new"])

    assert (len(classic), classic[0], classic[-1]) == (107, "v4.0.0", "v8.5.8")
    assert new[:5] == ["v8.5.4", "v8.5.5", "v8.5.6", "v8.5.7", "v8.5.8"]
    assert {"v26.3.1", "v26.3.4", "v9.0.0-beta.1", "v9.0.0-beta.2.pre"} <= set(new)
    assert all(found.name == tag for releases in RELEASES.values() for tag, found in releases.items())


def test_a_release_is_found_by_its_tag_with_or_without_v_and_by_its_architecture() -> None:
    for architecture, releases in RELEASES.items():
        for tag, release in releases.items():
            assert find(tag, architecture) is release
            assert find(tag.removeprefix("v"), architecture) is release


def test_a_patch_that_changed_nothing_is_like_the_one_before() -> None:
    last = {"4.0": 12, "5.0": 5, "5.3": 4, "6.1": 5, "7.5": 4}
    for line, patch in [*last.items(), ("7.5", 8), ("8.5", 8)]:
        like = f"v{line}.{patch - 1}"
        assert replace(find(f"v{line}.{patch}"), name=like) == find(like)


LONGER = """
import sys, types
from dataclasses import fields
from pathlib import Path
path = Path(sys.argv[1])
name = "simulator.releases.behaviour"
module = sys.modules[name] = types.ModuleType(name)
module.__dict__["__file__"] = str(path)
longer = "\\nfor _lines in (CLASSIC, NEW):\\n    for _line, _old in _lines.items():\\n"
longer += "        _lines[_line] = range(_old.start, _old.stop + 1)\\n\\nBETAS ="
exec(compile(path.read_text("utf-8").replace("\\nBETAS =", longer, 1), path, "exec"), module.__dict__)
from simulator.releases import RELEASES
for architecture, lines in (("classic", module.CLASSIC), ("new", module.NEW)):
    for line, patches in lines.items():
        old, new = (RELEASES[architecture][f"v{line}.{patch}"] for patch in patches[-2:])
        names = (each.name for each in fields(old) if each.name != "name")
        differing = [name for name in names if getattr(old, name) != getattr(new, name)]
        print(architecture, new.name, differing)
"""


@pytest.mark.slow
def test_a_new_patch_release_is_one_number() -> None:
    """A range that goes to the last patch of a line says the line: a patch after it is like it."""
    path = Path(simulator.__file__).parent / "releases" / "behaviour.py"
    ran = subprocess.run([sys.executable, "-c", LONGER, str(path)], capture_output=True, text=True, check=True)

    lines = ran.stdout.splitlines()
    assert len(lines) == len({tag.rpartition(".")[0] for tag in TAGS["classic"]}) + len({"8.5", "26.3"})
    assert [line for line in lines if not line.endswith(" []")] == []


def test_lines_are_ported_back_to_apart() -> None:
    """6.5.4 and 7.1.2 decide RENAME as 7.4.0 does, which 6.6.0 to 7.3.0 between them do not."""
    rules = {tag: find(tag).rename_filter for tag in ("6.5.3", "6.5.4", "6.6.0", "7.1.1", "7.1.2", "7.3.0", "7.4.0")}

    assert [tag for tag, rule in rules.items() if rule == "old-name"] == ["6.5.4", "7.1.2", "7.4.0"]


def test_nobody_asks_which_architecture_a_release_has() -> None:
    """A behaviour has a field of its own; the name is for people, whom explain, the command line and Python show it."""
    package = Path(simulator.__file__).parent
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in SHOWING]

    assert [
        path
        for path in files
        if "release.architecture" in path.read_text("utf-8")
        and any(
            isinstance(node, ast.Attribute) and ast.unparse(node).endswith("release.architecture")
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        )
    ] == []


@pytest.mark.parametrize(
    ("name", "architecture", "said"),
    [
        ("8.6.0", None, "Nearest: v8.0.0, v8.1.0, "),
        ("banana", None, "unknown TiCDC release 'banana'. Nearest: v4.0.16, v5.0.6, "),
        ("", None, "unknown TiCDC release ''"),
        ("v26.3.1", "classic", "TiCDC v26.3.1 has no classic architecture, which is v4.0.0 – v8.5.8"),
    ],
)
def test_an_unknown_tag_or_architecture_is_told_which_there_are(name: str, architecture: str | None, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        find(name, architecture)


def test_the_default_is_classic() -> None:
    """Where a release has both architectures; where it has one, that."""
    assert find(DEFAULT) is V8_5
    assert find("v8.5.4").architecture == "classic"
    assert find("v26.3.1").architecture == "new"


def test_system_schemas_follow_the_release() -> None:
    """TiCDC's own database came with 6.5.9, 7.1.4, 7.5.1 and 8.0; Lightning's with 8.2."""
    tags = ("6.5.8", "6.5.9", "7.4.0", "8.0.0", "8.1.2", "8.2.0")

    assert [tag for tag in tags if is_system("tidb_cdc", find(tag))] == ["6.5.9", "8.0.0", "8.1.2", "8.2.0"]
    assert [tag for tag in tags if is_system("lightning_task_info", find(tag))] == ["8.2.0"]
    assert not is_system("TIDB_CDC", find("8.5.4")) and is_system("TIDB_CDC", find("8.5.4", "new"))
    assert is_system("metric_schema", find("4.0.4")) and not is_system("metric_schema", find("4.0.5"))


def test_an_ignored_start_ts_discards_statements_in_some_releases() -> None:
    kept = [
        tag
        for tag in ("6.5.3", "6.5.4", "6.5.8", "7.5.6", "7.5.7", "8.5.3", "8.5.4")
        if keeps_ddl(replication(["*.*"], ignore_txn_start_ts=[7], release=find(tag)), 3, ("a", "b"), find(tag), 7)
    ]

    assert kept == ["6.5.3", "6.5.8", "7.5.6", "8.5.3"]
