"""Functions whose value depends on the session: NOW(), DATABASE(), RAND(), GET_LOCK().

They are compiled like any other function, and read the session of the context in which they are evaluated. A value
depends only on the session, the statement and the row, so runs are repeatable.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from simulator import tso
from simulator.tidb.engine.context import current_ts, server_version, tidb_version, time_zone
from simulator.tidb.engine.session import Session
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.conversions import as_integer, as_real, as_text, of_datetime
from simulator.tidb.expressions.expression import Context, Expression, Function, Row, apply, apply_in_context, fixed
from simulator.tidb.storage.rows import Pause
from simulator.tidb.syntax.definitions import NOW, TODAY

FromSession = Callable[[Session], Any]

# -- the clock ---------------------------------------------------------------------------------------------------------


def _local(context: Any) -> datetime:
    moment: datetime = context.time
    return moment.astimezone(time_zone(context.zone))


def _in_utc(context: Any) -> datetime:
    moment: datetime = context.time
    return moment


def _cut(moment: datetime, digits: int) -> datetime:
    unit: int = 10 ** (6 - digits)
    return moment.replace(microsecond=moment.microsecond // unit * unit, tzinfo=None)


def _digits(name: str, arguments: tuple[Expression, ...]) -> int:
    """Return the precision that an argument is, a literal. Raises SqlError."""
    if not arguments:
        return 0
    written = arguments[0].constant or "NULL"
    if not written.isdecimal():
        raise sql_error(1064, f"{name}() takes the number of digits of a second, not {written}")
    digits = int(written)
    if digits > 6:
        raise sql_error(1426, digits, name.lower(), 6)
    return digits


def _datetime(name: str, now: Callable[[Any], datetime]) -> Function:
    def compute(*arguments: Expression) -> Expression:
        digits = _digits(name, arguments)

        def evaluate(row: Row, context: Context) -> str:
            return of_datetime(_cut(now(context), digits))

        def text(row: Row, context: Context) -> str:
            moment = of_datetime(now(context).replace(tzinfo=None))
            return moment[: 20 + digits] if digits else moment[:19]

        return Expression(evaluate, "datetime", text=text, scale=digits)

    return Function(0, 1, compute, literal_arguments=(0,))


def _date(now: Callable[[Any], datetime]) -> Function:
    def evaluate(row: Row, context: Context) -> str:
        return f"{of_datetime(now(context).replace(tzinfo=None))[:10]} 00:00:00.000000"

    return Function(0, 0, lambda: Expression(evaluate, "date"))


def _time(name: str, now: Callable[[Any], datetime]) -> Function:
    def compute(*arguments: Expression) -> Expression:
        digits = _digits(name, arguments)

        def evaluate(row: Row, context: Context) -> int:
            moment = _cut(now(context), digits)
            return (moment.hour * 3600 + moment.minute * 60 + moment.second) * 10**6 + moment.microsecond

        def text(row: Row, context: Context) -> str:
            shown = of_datetime(now(context).replace(tzinfo=None))[11:]
            return shown[: 9 + digits] if digits else shown[:8]

        return Expression(evaluate, "time", text=text, scale=digits)

    return Function(0, 1, compute, literal_arguments=(0,))


def _unix_timestamp() -> Expression:
    return Expression(lambda row, context: int(context.time.timestamp()), "int")  # type: ignore[attr-defined]


# -- the server and the session ----------------------------------------------------------------------------------------


def _of_session(read: FromSession, kind: str = "uint", is_random: bool = False) -> Function:
    def evaluate(row: Row, context: Any) -> Any:
        return read(context.session)

    def value() -> Expression:
        return Expression(evaluate, kind, coercibility=3) if kind == "string" else Expression(evaluate, kind)

    return Function(0, 0, value, is_random=is_random)


def _session_text(read: FromSession) -> Function:
    return _of_session(read, "string")


def _last_insert_id(*arguments: Expression) -> Expression:
    """Return the last id, or the argument, which the session then remembers as that (tidb
    pkg/expression/builtin_info.go, builtinLastInsertIDWithIDSig)."""
    if not arguments:
        return Expression(lambda row, context: context.session.settings.last_insert_id, "uint")  # type: ignore[attr-defined]
    number = as_integer(arguments[0])

    def evaluate(row: Row, context: Any) -> Any:
        value = number(row, context)
        context.given_id = 0 if value is None else value % 2**64
        return value if value is None else value % 2**64

    return Expression(evaluate, "uint")


# -- chance ------------------------------------------------------------------------------------------------------------

MAX_RANDOM = 0x3FFFFFFF


class MysqlRandom:
    """MySQL's generator of RAND(n) (tidb pkg/util/mathutil/rand.go, NewWithSeed)."""

    def __init__(self, seed: int) -> None:
        self._first = (seed * 0x10001 + 55555555) % 2**32 % MAX_RANDOM
        self._second = seed * 0x10000001 % 2**32 % MAX_RANDOM

    def next(self) -> float:
        self._first = (self._first * 3 + self._second) % MAX_RANDOM
        self._second = (self._first + self._second + 33) % MAX_RANDOM
        return self._first / MAX_RANDOM


def _rand(*arguments: Expression) -> Expression:
    """Return a number from 0 to 1. With a constant seed the rows of a statement have a sequence, with another one each row
    its first number (tidb pkg/expression/builtin_math.go, builtinRandWithSeedFirstGenSig)."""
    if not arguments:
        return Expression(lambda row, context: chance(context).random(), "real")
    seed, is_constant = as_integer(arguments[0]), arguments[0].is_constant
    known: Any = None
    generator = MysqlRandom(0)

    def evaluate(row: Row, context: Context) -> float:
        nonlocal known, generator
        if not is_constant or known is not context:
            generator, known = MysqlRandom(seed(row, context) or 0), context
        return generator.next()

    return Expression(evaluate, "real")


def chance(context: Any) -> random.Random:
    """Return the generator of a statement, which depends on the seed, the time and the statements before it."""
    if context.random is None:
        context.random = random.Random(f"{context.database.seed} {context.now_ms} {context.session.step}")
    generator: random.Random = context.random
    return generator


def _uuid(row: Row, context: Context) -> str:
    digest = hashlib.md5(chance(context).randbytes(16), usedforsecurity=False).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-1{digest[12:15]}-8{digest[15:18]}-{digest[18:30]}"


def _random_bytes(size: Expression) -> Expression:
    length = as_integer(size)

    def evaluate(row: Row, context: Context) -> str | None:
        number = length(row, context)
        if number is None:
            return None
        if not 1 <= number <= 1024:
            raise sql_error_with_text(1690, "length value is out of range in 'random_bytes'")
        return chance(context).randbytes(number).decode("latin-1")

    return Expression(evaluate, "string", "binary", is_binary=True)


# -- waiting -----------------------------------------------------------------------------------------------------------


def _sleep(seconds: Expression) -> Expression:
    """Return 0 after some seconds (tidb pkg/expression/builtin_miscellaneous.go, builtinSleepSig)."""
    duration = as_real(seconds)

    def evaluate(row: Row, context: Any) -> int:
        wanted = duration(row, context)
        if wanted is None or wanted < 0:
            error = sql_error_with_text(1210, "Incorrect arguments to sleep")
            if not context.ignore:
                raise error
            context.warn(error)
            return 0
        session = context.session
        if not wanted or not session.waits:
            return 0
        resumed = _resumed(context)
        if resumed is None:
            raise Pause(wanted)
        return resumed

    return Expression(evaluate, "int")


def _get_lock(name: Expression, seconds: Expression) -> Expression:
    """Return 0 if another session holds the lock."""
    key, timeout = as_text(name), as_real(seconds)

    def evaluate(row: Row, context: Any) -> int:
        wanted, lock, session = timeout(row, context) or 0, lock_name(key(row, context)), context.session
        resumed = _resumed(context)
        if resumed is not None:
            return resumed
        got = session.database.named_locks.get(lock, session)
        if not got and session.waits and wanted:
            raise Pause(wanted, lock)
        session.resumed.append(int(got))
        return int(got)

    return Expression(evaluate, "int")


def _resumed(context: Any) -> int | None:
    """Return what the next call returned before the statement paused; None if it was not called."""
    context.pauses += 1
    resumed: list[int] = context.session.resumed
    return resumed[context.pauses - 1] if context.pauses <= len(resumed) else None


LONGEST_NAME = 64


def lock_name(name: str | None) -> str:
    """Return the name of a lock in lower case. Raises SqlError 3057 for one that TiDB refuses (tidb
    pkg/expression/builtin_miscellaneous.go, validateLockName)."""
    if not name or len(name) > LONGEST_NAME:
        raise sql_error_with_text(3057, f"Incorrect user-level lock name '{name or ''}'.")
    return name.lower()


def _of_lock(compute: Callable[[Any, str], int | None]) -> Function:
    def of(name: Expression) -> Expression:
        key = as_text(name)
        return Expression(lambda row, context: compute(context.session, lock_name(key(row, context))), "int")  # type: ignore[attr-defined]

    return Function(1, 1, of, is_random=True)


# -- TiDB --------------------------------------------------------------------------------------------------------------


def _parse_tso(number: Expression) -> Expression:
    """Return the moment of a TSO (tidb pkg/expression/builtin_info.go, builtinTiDBParseTsoSig)."""

    def moment(context: Context, ts: int) -> str | None:
        if ts <= 0:
            return None
        instant = datetime.fromtimestamp(tso.physical(ts) / 1000, time_zone(context.zone))
        return of_datetime(instant.replace(tzinfo=None))

    return Expression(apply_in_context(moment, as_integer(number)), "datetime", scale=6)


def _parse_tso_logical(number: Expression) -> Expression:
    return Expression(apply(lambda ts: ts & (1 << 18) - 1 if ts > 0 else None, as_integer(number)), "int")


SESSION_FUNCTIONS: Mapping[str, Function] = {
    **{name: _datetime(name, _local) for name in (*NOW, "SYSDATE")},
    **dict.fromkeys(TODAY, _date(_local)),
    **{name: _time(name, _local) for name in ("CURTIME", "CURRENT_TIME")},
    "UTC_TIMESTAMP": _datetime("UTC_TIMESTAMP", _in_utc),
    "UTC_DATE": _date(_in_utc),
    "UTC_TIME": _time("UTC_TIME", _in_utc),
    **dict.fromkeys(("DATABASE", "SCHEMA"), _session_text(lambda session: session.settings.database or None)),
    "VERSION": _session_text(lambda session: server_version(session.database.release)),
    "TIDB_VERSION": _session_text(lambda session: tidb_version(session.database.release)),
    "CURRENT_ROLE": _session_text(lambda session: "NONE"),
    "CURRENT_RESOURCE_GROUP": _session_text(lambda session: "default"),
    "CURRENT_USER": _session_text(lambda session: session.settings.account),
    **dict.fromkeys(("USER", "SESSION_USER", "SYSTEM_USER"), _session_text(lambda session: session.settings.user)),
    "CONNECTION_ID": _of_session(lambda session: session.settings.connection_id),
    "ROW_COUNT": _of_session(lambda session: session.settings.last.affected, "int"),
    "FOUND_ROWS": _of_session(lambda session: session.settings.last.found),
    "TIDB_CURRENT_TSO": _of_session(current_ts),
    "TIDB_IS_DDL_OWNER": Function(0, 0, lambda: Expression(fixed(1), "int")),
    "TIDB_PARSE_TSO": Function(1, 1, _parse_tso),
    "TIDB_PARSE_TSO_LOGICAL": Function(1, 1, _parse_tso_logical),
    "LAST_INSERT_ID": Function(0, 1, _last_insert_id),
    "RAND": Function(0, 1, _rand, is_random=True),
    "UUID": Function(0, 0, lambda: Expression(_uuid, "string"), is_random=True),
    "RANDOM_BYTES": Function(1, 1, _random_bytes, is_random=True),
    "SLEEP": Function(1, 1, _sleep, is_random=True),
    "GET_LOCK": Function(2, 2, _get_lock, is_random=True),
    "RELEASE_LOCK": _of_lock(lambda session, name: session.database.named_locks.release(name, session)),
    "IS_FREE_LOCK": _of_lock(lambda session, name: int(session.database.named_locks.holder(name) is None)),
    "IS_USED_LOCK": _of_lock(lambda session, name: session.database.named_locks.user(name)),
    "RELEASE_ALL_LOCKS": _of_session(lambda session: session.database.named_locks.release_all(session), "int", True),
}
"""By TiDB's names, beside `expressions.trees.FUNCTIONS`."""

UNIX_TIMESTAMP = Function(0, 0, _unix_timestamp)


def session_function(name: str, arguments: int) -> Function | None:
    """Return a function of the session with a number of arguments; None for any other function."""
    return UNIX_TIMESTAMP if name == "UNIX_TIMESTAMP" and not arguments else SESSION_FUNCTIONS.get(name)
