"""`ticdc-sim scenarios`: what comes with the package, and what each scenario says of itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.playing import said

from simulator.run.scenario import LIBRARY, shipped

ROOT = Path(__file__).parent.parent.parent
EVERY = shipped().values()


def test_every_scenario_says_what_it_is_for() -> None:
    for scenario in EVERY:
        about = scenario.about
        assert all((about.title, about.story, about.consumer, about.wrong)), scenario.name
        assert about.threads and about.releases or scenario.name == "airports"


def test_the_documentation_lists_every_scenario() -> None:
    page = (ROOT / "docs" / "library.md").read_text("utf-8")

    assert re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE) == [
        (scenario.name, scenario.about.title, ", ".join(scenario.about.releases) or "any") for scenario in EVERY
    ]


def output(*command: object, cwd: Path) -> list[str]:
    """The lines that this Python writes, without the checkout on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def built(kind: str, source: Path, directory: Path) -> Path:
    """The file that the build backend makes of a source directory."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(directory)!r}))"
    return directory / output("-c", code, cwd=source)[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["wheel", pytest.param("editable", marks=pytest.mark.long(reason="another way to install it"))]
)
def test_an_installed_package_has_every_scenario_and_what_it_reads(kind: str, tmp_path: Path) -> None:
    """A wheel of a source distribution, and an editable install."""
    source = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".*", "tests", "docs", "__pycache__", "build", "dist", "out", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=ignored)
    if kind == "wheel":
        shutil.unpack_archive(built("sdist", source, tmp_path), tmp_path / "unpacked", filter="data")
        (source,) = (tmp_path / "unpacked").iterdir()
    shutil.unpack_archive(built(kind, source, tmp_path), tmp_path / "installed", "zip")

    code = (
        "import site, sys\n"
        f"site.addsitedir({str(tmp_path / 'installed')!r})\n"
        f"sys.path.append({sysconfig.get_path('purelib')!r})\n"
        "from simulator.run.scenario import LIBRARY, shipped\n"
        "print(LIBRARY, *shipped(), sep='\\n')"
    )
    library, *names = output("-S", "-c", code, cwd=tmp_path)
    assert tmp_path in Path(library).parents
    assert [scenario.name for scenario in EVERY] == names
    for pattern in ("*.toml", "load/*.toml", "data/*/*"):
        shipped_files = {path.relative_to(LIBRARY) for path in LIBRARY.glob(pattern)}
        assert shipped_files == {path.relative_to(library) for path in Path(library).glob(pattern)} != set()


def test_scenarios_are_listed_and_each_is_shown_with_its_file() -> None:
    listed = said("scenarios").out
    assert [scenario.name for scenario in EVERY if scenario.name not in listed] == []

    found = {told["name"]: told for told in json.loads(said("scenarios", "--json").out)["scenarios"]}
    assert found["delete-shape"]["releases"][0] == "v5.3.0" and found["delete-shape"]["legal"] is True
    assert found["delete-shape"]["threads"] == ["docs PR#7898", "flink-cdc PR#3788", "tiflow#8159"]
    shown = said("scenarios", "delete-shape").out
    assert shown.splitlines()[0].rstrip() == "delete-shape: What a DELETE looks like"
    assert "A right consumer: Takes the deleted row" in shown and "CREATE TABLE item (id INT PRIMARY KEY" in shown
