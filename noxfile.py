"""The checks of the project, by name: `nox -s fast`, `nox -s lint types`; `nox -l` lists them.

Most sessions use the environment that nox runs in, so that `.ci/run` and a checkout with `pip install -e ".[test]"` need no
second one. Those of other Pythons and of other versions of libraries (`python-3.12`, `lowest`, `spark-4.1`) make their own
with uv, and are skipped where there is no such Python. What follows `--` goes to pytest, as in
`nox -s python-3.12 -- -m "not slow"`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import nox

os.environ.setdefault("UV_SYSTEM_CERTS", "true")  # as pip does
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "fast"]

LOWEST = "3.11"
PYTHONS = (LOWEST, "3.12", "3.13")
SPARKS = {
    # its pyspark leaves the sockets of results to the garbage collector, which warns of them
    "4.1": ("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
    "4.2": (),
    "4.3": (),
}
FLOOR = 90
"""The part of the lines of simulator/ that the tests run at least, in per cent."""

README = Path("README.md").read_text("utf-8")
WHOLE = shlex.split(re.findall(r"pip install .*&& (pytest\b.*)$", README, re.MULTILINE)[0])
"""README's test command, which is the one place that says how many processes there are."""

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))


def interpreter(version: str) -> str | None:
    """Return the path of a Python, on PATH or the newest of pyenv's; pyenv's shims may lead nowhere."""
    path = os.pathsep.join(folder for folder in os.get_exec_path() if Path(folder) != PYENV / "shims")
    installed = PYENV.glob(f"versions/{version}.*/bin/python{version}")
    newest = sorted(installed, key=lambda path: [int(part) for part in re.findall(r"\d+", path.parts[-3])])
    return shutil.which(f"python{version}", path=path) or (str(newest[-1]) if newest else None)


@nox.session
def fast(session: nox.Session) -> None:
    """Run the tests that need no Java and start no process."""
    session.run(*WHOLE, "-m", "not slow", *session.posargs)


@nox.session(name="all")
def all_tests(session: nox.Session) -> None:
    """Run the whole suite without its long tests; fail where a test takes too long."""
    session.run(*WHOLE, "--budget", "hold", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """Run the whole suite with its long tests."""
    session.run(*WHOLE, "--everything", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the whole suite, and count the lines of simulator/ that it runs; takes half as long again before Python 3.12."""
    lines = Path(session.create_tmp()).resolve() / "lines"
    # coverage comes with a .pth file that looks for the first of these; tests/conftest.py keeps it from what tests start
    counting = {"COVERAGE_PROCESS_START": str(Path("setup.cfg").resolve()), "COVERAGE_FILE": str(lines)}
    session.run("coverage", "erase", f"--data-file={lines}")
    session.run(*WHOLE, *session.posargs, env=counting)
    session.run("coverage", "combine", "--quiet", f"--data-file={lines}")
    session.run("coverage", "report", f"--data-file={lines}", f"--fail-under={FLOOR}")


@nox.session
def lint(session: nox.Session) -> None:
    """Check the code with ruff."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy."""
    session.run("mypy", *session.posargs)


def own_environment(version: str) -> dict[str, Any]:
    """Return the options of a session that has an environment of its own, if there is such a Python."""
    path = interpreter(version)
    return {"python": path, "venv_backend": "uv"} if path else {"python": False, "venv_backend": "none"}


def install(session: nox.Session, version: str, *options: str) -> None:
    """Install the project for its tests, or skip the session."""
    if interpreter(version) is None:
        session.skip(f"there is no Python {version}, neither on PATH nor under {PYENV}")
    session.install(*options, "-e", ".[test]")


def under(version: str) -> None:
    """Add the session of a Python."""

    def whole_suite(session: nox.Session) -> None:
        install(session, version)
        session.run(*WHOLE, *session.posargs)

    whole_suite.__doc__ = f"Run the whole suite under Python {version}."
    nox.session(whole_suite, name=f"python-{version}", **own_environment(version))


def with_spark(version: str, *options: str) -> None:
    """Add the session of a Spark."""

    def spark_tests(session: nox.Session) -> None:
        install(session, LOWEST, f"pyspark=={version}.*")
        session.run(*WHOLE, "-m", "spark", *options, *session.posargs)

    spark_tests.__doc__ = f"Run the tests that use Spark with Spark {version}."
    nox.session(spark_tests, name=f"spark-{version}", **own_environment(LOWEST))


for each in PYTHONS:
    under(each)
for each, options in SPARKS.items():
    with_spark(each, *options)


@nox.session(**own_environment(LOWEST))
def lowest(session: nox.Session) -> None:
    """Run the fast tests with the lowest versions that setup.cfg accepts."""
    install(session, LOWEST, "--resolution", "lowest-direct")
    session.run(*WHOLE, "-m", "not slow", *session.posargs)


@nox.session
def archives(session: nox.Session) -> None:
    """Try what docs/clusters.md says of a cluster that is not ours."""
    session.run("bash", ".ci/archives", external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into out/site; needs `pip install -e ".[docs]"`."""
    session.run("mkdocs", "build", "--strict", "--site-dir", "out/site", *session.posargs)
