"""USE and SET: what a session is told.

One law: the settings of one SET are computed one after another, and none stays if one is refused.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.syntax.expressions import Literal, Node
from simulator.tidb.syntax.session import SetVariables, Setting, Use
from simulator.tidb.upstream.queries import values_of
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.settings import NAMES, with_setting
from simulator.tidb.upstream.state import SqlSession, Upstream


def use(statement: Use, upstream: Upstream) -> Upstream:
    """Another current database. Raises SqlError."""
    found = upstream.catalog.database(statement.database)
    if found is None:
        raise refused(1049, statement.database)
    return replace(upstream, session=replace(upstream.session, database=found.name))


def set_variables(statement: SetVariables, upstream: Upstream, now_ms: int) -> Upstream:
    """The session with all variables set. Raises SqlError."""
    for setting in statement.settings:
        upstream = replace(upstream, session=_with(setting, upstream, now_ms))
    return upstream


def _with(setting: Setting, upstream: Upstream, now_ms: int) -> SqlSession:
    session = upstream.session
    value = None if setting.value is None else _text(setting.value, upstream, now_ms)
    if setting.scope == "user":
        return replace(session, variables={**session.variables, setting.name: value})
    text = None if value is None else value.decode("utf-8", "replace")
    if setting.name in NAMES:
        return NAMES[setting.name](session, setting.name, text or "utf8mb4")
    if setting.value is not None and text is None:
        text = ""
    return with_setting(session, setting.name, setting.scope, text)


def _text(node: Node, upstream: Upstream, now_ms: int) -> bytes | None:
    if isinstance(node, Literal) and node.kind in ("string", "integer", "decimal", "float"):
        return node.text.encode("utf-8", "surrogateescape")
    found: bytes | str | None = values_of([node], [None], upstream, now_ms)[0][0].as_py()
    return found.encode("utf-8", "surrogateescape") if isinstance(found, str) else found
