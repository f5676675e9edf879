"""What was executed as a story or a scenario, and a scenario as SQL, in which its other steps are commands of the simulator:
`CALL ticdc.wait('10s')`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from simulator.errors import SqlError, UserError
from simulator.files import parse_toml, read_text
from simulator.releases import Release
from simulator.run.scenario import Shipped
from simulator.serve.handler import SimulatorCall, key_values, split_call
from simulator.settings import DEFAULT_SINK_URI

PLAYED = {"sql", "wait", "fault"}
"""The kinds of steps that become SQL. Expectations become comments."""

OTHERS = {"sql-file", "snapshot", "generate"}

BASIC_ONLY = re.compile(r"'''|[\x00-\x08\x0b-\x1f\x7f]")
"""What a literal text of TOML cannot hold."""


class Executed(NamedTuple):
    """A statement that was executed."""

    session: str
    text: str
    error: int
    """The number of TiDB's error; 0 for none."""

    at_ms: int
    """The millisecond of its commit, or of its execution."""


class Opened(NamedTuple):
    """A story or a scenario as SQL."""

    sql: str
    release: str = ""
    """As `TiCDC` takes it; empty for the default."""

    sink_uri: str | None = None
    time_zone: str = ""
    config: str = ""
    """The text of changefeed.toml."""


def played(log: Iterable[Executed]) -> Iterator[tuple[SimulatorCall | None, Executed]]:
    """Yield what is executed again, each with the command that it is. A command that failed has done nothing, and is left
    out."""
    for executed in log:
        try:
            call, _ = split_call(executed.text)
        except SqlError:  # it failed with that error
            continue
        if call is None or not executed.error:
            yield call, executed


def story(log: Iterable[Executed]) -> str:
    """Return statements as a script that raises the same errors."""
    return "\n".join(_statement(executed) for _, executed in played(log)) + "\n"


def _statement(executed: Executed) -> str:
    fails = f"-- fails {executed.error}\n" if executed.error else ""
    return f"{fails}{executed.text};"


def scenario(log: Iterable[Executed], release: Release, sink_uri: str, time_zone: str = "", config: str = "") -> str:
    """Return statements as a scenario file; `config` is the name of its changefeed.toml."""
    settings = {"release": release.name, "architecture": release.architecture, "sink-uri": sink_uri}
    settings |= {key: value for key, value in (("tz", time_zone), ("config", config)) if value}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    for is_sql, group in groupby(played(log), lambda pair: pair[0] is None):
        if is_sql:
            lines += ["", "[[step]]", f"sql = {_toml_text(story(each for _, each in group))}"]
        else:
            lines += (line for call, _ in group if call is not None for line in _step(call))
    return "\n".join(lines) + "\n"


def _step(call: SimulatorCall) -> Iterator[str]:
    """Yield the lines of a command's step; a run has one changefeed, and `watermark` has no step, as time brings them."""
    if call.name in ("fault", "wait"):
        first, *keys = call.arguments or ("1s",)
        yield from ("", "[[step]]", f"{call.name} = {json.dumps(first)}")
        values = key_values(tuple(keys)).items()
        yield from (f"{key} = {json.dumps(value)}" for key, value in values if key != "changefeed")


def _toml_text(text: str) -> str:
    return json.dumps(text) if BASIC_ONLY.search(text) else f"'''\n{text}'''"


def is_playable(shipped: Shipped) -> bool:
    """Return whether all steps of a scenario of the library are SQL, waits, faults and expectations, and its changefeed
    writes no files."""
    document = parse_toml(read_text(shipped.file))
    uri = str(document.get("sink-uri", DEFAULT_SINK_URI))
    return (
        uri.startswith("kafka:")
        and "claim-check" not in uri + _config(shipped.file, document)
        and not any(OTHERS & step.keys() or {"sql", "fault"} <= step.keys() for step in document["step"])
    )


def _config(file: Path, document: Mapping[str, Any]) -> str:
    """Return the text of a scenario's changefeed.toml, empty without one."""
    config = document.get("config")
    return read_text(file.parent / config) if config else ""


def open_shipped(shipped: Shipped) -> Opened:
    """Return a scenario of the library as SQL, with its changefeed.toml."""
    document = parse_toml(read_text(shipped.file))
    return _of_document(document, shipped.name)._replace(config=_config(shipped.file, document))


def open_text(name: str, text: str) -> Opened:
    """Return a file that a user gives: SQL, or a scenario if it is called `.toml`. Files that it names are not read.
    Raises UserError."""
    if not name.lower().endswith(".toml"):
        return Opened(text)
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UserError(f"{name} is not TOML: {error}") from None
    return _of_document(document, name)


def _of_document(document: Mapping[str, Any], name: str) -> Opened:
    steps = document.get("step")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise UserError(f"{name} has no [[step]]: it is no scenario")
    parts = [part for number, step in enumerate(steps, 1) for part in _sql_of(step, f"{name}, step {number}")]
    release = ":".join(filter(None, (str(document.get(key, "")) for key in ("architecture", "release"))))
    uri, time_zone = document.get("sink-uri"), str(document.get("tz", ""))
    return Opened("\n\n".join(parts) + "\n", release, uri if isinstance(uri, str) else None, time_zone)


def _sql_of(step: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield the SQL of a step. Raises UserError for one that only `ticdc-sim run` plays."""
    kind = next((kind for kind in step if kind in PLAYED | {"expect"}), "")
    if kind == "sql" and "fault" not in step and isinstance(step["sql"], str):
        yield step["sql"].strip().removesuffix(";") + ";"
    elif kind == "wait":
        yield f"CALL ticdc.wait({_quoted(step['wait'])});"
    elif kind == "fault":
        keys = (f"{key}={value}" for key, value in step.items() if key not in ("fault", "name"))
        yield f"CALL ticdc.fault({', '.join(map(_quoted, (step['fault'], *keys)))});"
    elif kind == "expect":
        yield "-- here the scenario checks what was sent: `ticdc-sim run` does"
    else:
        raise UserError(f"{where}: a page plays SQL, waits and faults; `ticdc-sim run` plays the rest")


def _quoted(value: object) -> str:
    return '"{}"'.format(str(value).replace('"', "'")) if "'" in str(value) else f"'{value}'"
