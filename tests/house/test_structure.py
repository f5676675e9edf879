"""The layers of the package and the modules that may import a library, read from the code's own imports.

The tables come first. Edit them when a package or a library is added.
"""

from __future__ import annotations

import ast
import configparser
import graphlib
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

FLOW = """
errors limits registry signals files tso settings channel releases columns tidb ticdc sources generate
sinks broker engines reader faults run truth load explain changefeeds serve api openapi page cli __main__
""".split()
"""What lies directly in the package, in import order: a module imports only from those above it. `docs/code.md` shows
the same order."""

DOORS = {
    "click": ("cli",),
    "cryptography": ("tidb.functions.byte_strings",),
    "crc32c": ("sources.snapshots",),
    "faker": ("generate",),
    "fastavro": ("reader.decode.avro",),
    "fsspec": ("files",),
    "kafka": ("sinks.kafka.library",),
    "msgspec": ("tidb", "ticdc.ddl"),
    "mysql_mimic": ("serve",),
    "lz4": ("ticdc.codecs.large_messages", "reader.decode.message_bytes"),
    "numpy": ("*",),
    "pandas": (),
    "pyarrow": ("*",),
    "plotly": ("cli",),
    "prometheus_client": ("cli",),
    "prompt_toolkit": ("cli",),
    "pytest": ("api.pytest_plugin",),
    "py4j": ("engines.spark.failures", "engines.spark.internals"),
    "pyspark": ("engines.on_spark", "engines.spark", "reader.on_spark", "truth.on_spark", "load.on_spark"),
    "pymysql": ("reader.database_tables",),
    "re2": ("ticdc.filters", "tidb.functions.texts"),
    "rich": ("cli",),
    "starlette": ("openapi", "page"),
    "uvicorn": ("openapi",),
    "sqlalchemy": ("reader.database_columns", "reader.database_tables"),
    "sortedcontainers": ("tidb.storage",),
    "sqlglot": ("tidb.parser", "ticdc.ddl"),
    "tomllib": ("files",),
}
"""Which rooms may import a library. One that is not listed may not be imported at all (Python's own may)."""

DISTRIBUTIONS = {
    "kafka": "kafka-python",
    "mysql_mimic": "mysql-mimic",
    "py4j": "pyspark",
    "pymysql": "PyMySQL",
    "re2": "google-re2",
    "sqlalchemy": "SQLAlchemy",
}
"""What setup.cfg calls the package that brings a library, where it is not called as the library is."""

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "simulator"
FILES = sorted(PACKAGE.rglob("*.py"))


OPTIONAL = {"pymysql", "sqlalchemy"}
"""What an installation without extras lacks."""


def module_name(path: Path) -> str:
    """`ticdc.split` of simulator/ticdc/split.py; the package itself is the empty name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


@cache
def imports(path: Path) -> frozenset[str]:
    """The full name of every module that a file imports, wherever in the file."""
    return frozenset(imported_names(path))


@cache
def at_the_top(path: Path) -> frozenset[str]:
    """The modules of ours, and the libraries, that a file imports when it is imported."""
    top = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name for node in top for name in names_of(node)}
    return frozenset(names | {name.partition(".")[0] for name in names})


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        yield from names_of(node)


def names_of(node: ast.AST) -> Iterator[str]:
    """The full name of every module that an import names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{node.module}: imports are written in full"
        yield from (imported(str(node.module), alias.name) for alias in node.names)


def imported(module: str, name: str) -> str:
    """The module that `from module import name` reads: a module of that name in ours, else `module` itself."""
    inner = f"{module}.{name}".removeprefix("simulator.")
    return f"simulator.{inner}" if module.partition(".")[0] == "simulator" and inner in MODULES else module


def ours(path: Path) -> set[str]:
    """The package's own modules among a file's imports, without `simulator.`."""
    names = (name for name in imports(path) if name.partition(".")[0] == "simulator")
    return {name.partition(".")[2] for name in names}


def libraries(path: Path) -> set[str]:
    """The first part of every name that a file imports."""
    return {name.partition(".")[0] for name in imports(path)}


def fits(module: str, pattern: str) -> bool:
    return fnmatch(module, pattern) or fnmatch(module, f"{pattern}.*")


def siblings(level: str) -> dict[str, set[str]]:
    """The modules and folders directly in a folder, each with those of the same folder that it imports from."""
    inside = {name: path for name, path in MODULES.items() if name.startswith(f"{level}." if level else "") and name}
    depth = len(level.split(".")) if level else 0
    graph: dict[str, set[str]] = {}
    for module, path in inside.items():
        child = module.split(".")[depth]
        others = {other.split(".")[depth] for other in ours(path) if other in inside}
        graph.setdefault(child, set()).update(others - {child})
    return graph


def test_packages_import_in_the_order_of_the_flow() -> None:
    """Every package can be understood, tested and replaced with only those above it."""
    graph = siblings("")
    upwards = {
        (child, other) for child, others in graph.items() for other in others if FLOW.index(other) > FLOW.index(child)
    }

    assert set(FLOW) == graph.keys()
    assert upwards == set()


def test_what_lies_in_a_folder_imports_in_one_direction_and_no_module_in_a_circle() -> None:
    """At every level of the tree: of two siblings, at most one depends on the other, directly or not."""
    graphlib.TopologicalSorter({module: ours(path) - {module} for module, path in MODULES.items()}).prepare()
    for level in (name for name, path in MODULES.items() if path.name == "__init__.py"):
        graphlib.TopologicalSorter(siblings(level)).prepare()


def test_a_library_is_imported_only_where_its_door_is() -> None:
    """Replacing a library is then work on one room."""
    assert [] == [
        (library, module)
        for library, doors in DOORS.items()
        for module, path in MODULES.items()
        if library in libraries(path) and not any(fits(module, door) for door in doors)
    ]


def test_optional_libraries_are_imported_when_they_are_asked_for() -> None:
    """No module draws them in by its imports at the top."""
    drawing = {name for name, path in MODULES.items() if at_the_top(path) & OPTIONAL}
    while (
        more := {name for name, path in MODULES.items() if at_the_top(path) & {f"simulator.{each}" for each in drawing}}
        - drawing
    ):
        drawing |= more

    assert drawing == set()


def test_every_library_has_a_door_and_is_a_dependency() -> None:
    """What the package imports is listed above, and installed with it; who loads a plugin of pytest has pytest."""
    used = set().union(*map(libraries, FILES)) - sys.stdlib_module_names - {"simulator", "pytest"}
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    extras = setup["options.extras_require"]
    needed = setup["options"]["install_requires"] + extras["fast"] + extras["databases"]

    assert used <= DOORS.keys()
    assert {name for name in used if DISTRIBUTIONS.get(name, name.replace("_", "-")) not in needed} == set()


def test_names_say_what_a_module_is_and_every_folder_is_a_package() -> None:
    """Else it is there where the source is, and missing where the package is installed."""
    assert {module for module in MODULES if FORBIDDEN_NAMES & set(module.split("."))} == set()
    assert {path.parent for path in FILES} == {path.parent for path in FILES if path.name == "__init__.py"}
