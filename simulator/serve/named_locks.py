"""The locks of GET_LOCK and RELEASE_LOCK, which tools that migrate schemas use (tidb pkg/expression/builtin_miscellaneous.go).

The functions are computed here, as literals, before the SQL engine runs the statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.serve.clients import Client
from simulator.tidb.expressions.trees import walk
from simulator.tidb.syntax.expressions import Call, Literal, Node, Unary
from simulator.tidb.syntax.queries import SelectItem, SelectTree
from simulator.tidb.syntax.session import SelectStatement, SqlStatement

LONGEST_NAME = 64
POLL_SECONDS = 0.02

Holders = dict[str, tuple[Client, int]]


class NamedLocks:
    """Who holds which lock, and how often."""

    def __init__(self) -> None:
        self._holders: Holders = {}

    async def computed(self, statement: SqlStatement, client: Client) -> SqlStatement:
        """Return a query with the results of the functions in its SELECT list. Raises SqlError."""
        if not isinstance(statement, SelectStatement) or not isinstance(statement.query, SelectTree):
            return statement
        items = statement.query.items
        if not any(isinstance(item, SelectItem) and _call_of(item.expression) for item in items):
            return statement
        computed = [
            replace(item, expression=await self._result(call, client))
            if isinstance(item, SelectItem) and (call := _call_of(item.expression))
            else item
            for item in items
        ]
        return SelectStatement(replace(statement.query, items=tuple(computed)))

    def release_all(self, client: Client) -> int:
        """Release all locks of a client, and return how many times it held them."""
        held = {name: times for name, (holder, times) in self._holders.items() if holder is client}
        for name in held:
            del self._holders[name]
        return sum(held.values())

    async def _result(self, call: Call, client: Client) -> Node:
        result = await FUNCTIONS[call.name](self, [_constant(node) for node in call.arguments], client)
        return Literal("null") if result is None else Literal("integer", str(result))

    async def _get(self, arguments: Sequence[str | None], client: Client) -> int | None:
        name, seconds = _name(arguments[0]), float(arguments[1] or 0)
        loop = asyncio.get_running_loop()
        deadline = None if seconds < 0 else loop.time() + seconds
        while (holder := self._holders.get(name)) is not None and holder[0] is not client:
            if deadline is not None and loop.time() >= deadline:
                return 0
            await asyncio.sleep(POLL_SECONDS)
        self._holders[name] = (client, self._holders.get(name, (client, 0))[1] + 1)
        return 1

    async def _release(self, arguments: Sequence[str | None], client: Client) -> int | None:
        name = _name(arguments[0])
        holder, times = self._holders.get(name, (None, 0))
        if holder is not client:
            return None if holder is None else 0
        if times > 1:
            self._holders[name] = (client, times - 1)
        else:
            del self._holders[name]
        return 1

    async def _release_all(self, arguments: Sequence[str | None], client: Client) -> int | None:
        return self.release_all(client)

    async def _is_free(self, arguments: Sequence[str | None], client: Client) -> int | None:
        return int(_name(arguments[0]) not in self._holders)

    async def _is_used(self, arguments: Sequence[str | None], client: Client) -> int | None:
        holder = self._holders.get(_name(arguments[0]))
        return None if holder is None else holder[0].number


FUNCTIONS: dict[str, Callable[[NamedLocks, Sequence[str | None], Client], Awaitable[int | None]]] = {
    "GET_LOCK": NamedLocks._get,
    "RELEASE_LOCK": NamedLocks._release,
    "RELEASE_ALL_LOCKS": NamedLocks._release_all,
    "IS_FREE_LOCK": NamedLocks._is_free,
    "IS_USED_LOCK": NamedLocks._is_used,
}


def _call_of(expression: Node) -> Call | None:
    """Return the call of one of the functions that an expression is. Raises SqlError if it is a part of one."""
    if isinstance(expression, Call) and expression.name in FUNCTIONS:
        return expression
    inner = next((node for node in walk(expression) if isinstance(node, Call) and node.name in FUNCTIONS), None)
    if inner is not None:
        raise SqlError(
            1235, "42000", f"{inner.name} inside an expression is not simulated. Accepted: SELECT {inner.name}(…)"
        )
    return None


def _constant(node: Node) -> str | None:
    if isinstance(node, Literal):
        return None if node.kind == "null" else node.text
    if isinstance(node, Unary) and node.operator == "-" and isinstance(node.operand, Literal):
        return f"-{node.operand.text}"
    raise SqlError(1235, "42000", "the name of a lock that is no constant is not simulated")


def _name(name: str | None) -> str:
    """Return the name in lower case. Raises SqlError 3057 for a name that TiDB refuses."""
    if not name or len(name) > LONGEST_NAME:
        raise SqlError(3057, "42000", f"Incorrect user-level lock name '{name or ''}'.")
    return name.lower()
