"""What tests may take, and the sessions of nox that run them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support import budget

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
MOST_ABOVE = 33
"""Tests that may take more than five seconds; a change may lower it."""

CONFTEST = """
from support import budget

budget.SECONDS, budget.FAILURE = 0.1, 0.2

def pytest_addoption(parser):
    parser.addoption("--everything", action="store_true")
    parser.addoption("--budget")

def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long")
    config.pluginmanager.register(budget.Budget(config))
"""

TESTS = """
import time
import pytest
from support import budget

@pytest.mark.parametrize("seconds", [0, 0.15, 0.3, pytest.param(0.4, marks=pytest.mark.long(reason="a variant"))])
def test_of(seconds, request):
    if seconds == 0.15:
        budget.left_out(request, 1200, "changefeed")
    started = time.process_time()
    while time.process_time() - started < seconds:
        pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("SECONDS", "FAILURE"):
        monkeypatch.setattr(budget, name, getattr(budget, name))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    return pytester


@pytest.mark.parametrize("processes", [(), ("-n", "1")], ids=["here", "by xdist"])
def test_long_tests_are_left_out_and_costly_ones_named(processes: tuple[str, ...], project: pytest.Pytester) -> None:
    """By xdist in a process of its own, from which the numbers have to come."""
    ran = project.runpytest_inprocess("-p", "no:cacheprovider", "--budget", "hold", *processes)
    shown = ran.stdout.str()

    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    assert "1 long test, 1,200 changefeeds left out, which pytest --everything runs" in shown
    above = shown.partition("neither long nor in above_budget.toml")[2]
    assert re.findall(r"::test_of\[(.*)\]", above) == ["0.3", "0.15"]
    assert "failed: 1 of these" in above


def test_all_run_with_everything_and_long_ones_have_no_budget(project: pytest.Pytester) -> None:
    ran = project.runpytest_inprocess("-p", "no:cacheprovider", "--everything", "--budget", "show")

    ran.assert_outcomes(passed=4)
    assert "long test" not in ran.stdout.str()
    assert "0.4]" not in ran.stdout.str()


@pytest.mark.parametrize("arguments", ["", "'why'", "reason=' '"])
def test_a_long_test_without_a_reason_is_an_error(arguments: str, project: pytest.Pytester) -> None:
    project.makepyfile(test_long=f"import pytest\n\n@pytest.mark.long({arguments})\ndef test_it(): ...\n")
    ran = project.runpytest_inprocess("-p", "no:cacheprovider")

    assert ran.ret == pytest.ExitCode.INTERRUPTED
    assert "test_long.py::test_it: write long(reason=…)" in ran.stdout.str()


def test_each_listed_test_is_there_and_has_a_reason() -> None:
    listed = budget.listed()
    names = [name.partition("[")[0].split("::") for name in listed]
    missing = [name for path, name in names if not (ROOT / path).exists() or name not in functions(ROOT / path)]

    assert missing == []
    assert all(listed.values())
    assert len(listed) <= MOST_ABOVE


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.slow
def test_the_hosted_checks_and_pages_name_sessions_that_there_are() -> None:
    """As nox lists them, which starts uv when it is imported. Each that makes an environment of its own is hosted."""
    command = [sys.executable, "-m", "nox", "--list"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    sessions = set(re.findall(r"^[*-] (\S+) ->", listed, re.MULTILINE))
    jobs = yaml.safe_load((WORKFLOWS / "ci.yml").read_text("utf-8"))["jobs"]
    matrices = [job["strategy"]["matrix"]["include"] for job in jobs.values() if "strategy" in job]
    hosted = {name for matrix in matrices for entry in matrix for name in entry["session"].split()}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".ci" / "run", *(ROOT / "docs").rglob("*.md")]
    told = {
        name
        for page in pages
        for names in re.findall(r"nox -s ([\w. -]+)", page.read_text("utf-8"))
        for name in names.split()
    }

    assert hosted | told <= sessions
    assert {
        name for name in sessions if re.match(r"python-|spark-|lowest|archives|nightly|coverage|docs", name)
    } <= hosted


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_what_others_wrote_is_run_at_one_commit(path: Path) -> None:
    """A tag can be moved by whoever owns it, a commit cannot."""
    used = re.findall(r"uses: (\S+)(.*)", path.read_text("utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)
