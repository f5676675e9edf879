"""What others use in their pipelines fits what is here: `action.yml`, the dashboard, the development container."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
PAGE = (ROOT / "docs" / "pipelines.md").read_text("utf-8")
METRICS = set(re.findall(r"^\| `(ticdc_load_\w+)`", (ROOT / "docs" / "load.md").read_text("utf-8"), re.MULTILINE))


def test_scripts_of_the_action_take_inputs_from_the_environment_alone() -> None:
    """A value that the runner puts into a script could be code."""
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert scripts and [script for script in scripts if "${{" in script] == []
    asked = set(re.findall(r"inputs\.([\w-]+)", str(STEPS)))
    assert asked == set(ACTION["inputs"])
    assert [step["uses"] for step in STEPS if "uses" in step and not re.search(r"@[0-9a-f]{40}$", step["uses"])] == []


def test_the_example_gives_inputs_that_the_action_has() -> None:
    (workflow,) = re.findall(r"^```yaml\n# \.github/workflows/.*?^```$", PAGE, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(workflow.strip("`").removeprefix("yaml"))["jobs"]["consumer"]["steps"]
    given = [step["with"] for step in steps if "/ticdc-simulator@" in step.get("uses", "")]
    assert given and {name for inputs in given for name in inputs} <= set(ACTION["inputs"])
    documented = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert documented == set(ACTION["inputs"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("run 'my story.sql'\n  --console", 0, "INSERT test.item id=1"),
        ('run "my story.sql" --console --protocol=none', 2, ""),
        ("inspect nowhere", 2, ""),
    ],
)
def test_the_action_runs_a_command_and_ends_with_its_code(command: str, code: int, said: str, tmp_path: Path) -> None:
    """Starts the script of the action as a runner does: its exit code is that of the step."""
    (tmp_path / "my story.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY); INSERT INTO item VALUES (1)")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    program = binaries / "ticdc-sim"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m simulator "$@"\n')
    program.chmod(0o755)
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHON": sys.executable, "COMMAND": command}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", STEPS[-1]["run"]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, said in done.stdout) == (code, True), done.stderr


def test_the_dashboard_shows_each_metric_of_a_load_and_no_other() -> None:
    dashboard = json.loads((ROOT / "docker" / "grafana-dashboard.json").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [variable["query"] for variable in dashboard["templating"]["list"]]
    named = {name for text in asked for name in re.findall(r"ticdc_load_\w+", text)}
    families = {re.sub(r"_bucket$", "", name) for name in named}
    with_total = {name if name in METRICS else f"{name}_total" for name in families}
    assert with_total == METRICS
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)


def test_the_development_container_has_what_the_suite_needs() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    (version,) = re.findall(r"python:(3\.\d+)-", container["image"])
    pythons = (ROOT / "setup.cfg").read_text("utf-8")
    assert f"Programming Language :: Python :: {version}" in pythons
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    (packages,) = set(re.findall(r"apt-get install (.+)", workflow))
    assert f"{packages} chromium" in container["onCreateCommand"]  # hosted machines have Chrome
