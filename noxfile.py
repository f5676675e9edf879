"""The checks of the project, by name: `nox -s fast`, `nox -s lint types`; `nox -l` lists them.

The sessions use the environment that nox runs in, so that `.ci/run` and a checkout with `pip install -e ".[test]"` need no
second one.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "fast"]


@nox.session
def fast(session: nox.Session) -> None:
    """Run the tests that need no Java and start no process."""
    session.run("pytest", "-m", "not slow", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(name="all")
def all_tests(session: nox.Session) -> None:
    """Run the whole suite."""
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the code with ruff."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy."""
    session.run("mypy", *session.posargs)


@nox.session
def schema(session: nox.Session) -> None:
    """Write the JSON Schema of scenarios anew."""
    with Path("simulator/run/scenario.schema.json").open("w", encoding="utf-8") as file:
        session.run("python", "-m", "simulator.run.scenario_schema", stdout=file)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into out/site; needs `pip install -e ".[docs]"`."""
    session.run("mkdocs", "build", "--strict", "--site-dir", "out/site", *session.posargs)
