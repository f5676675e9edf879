"""ALTER TABLE's options: comment, charset, TTL, AUTO_INCREMENT and what changes nothing that rows show.

One law: OPTIONS lists the options that TiDB alters, by name; any other is refused (TiDB: pkg/ddl/executor.go,
AlterTable).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.build import KEPT_OPTIONS, build_ttl
from simulator.tidb.ddl.evolve_charset import charset_step
from simulator.tidb.ddl.evolve_errors import tidb, unsupported, worded
from simulator.tidb.ddl.evolve_foreign import referring
from simulator.tidb.ddl.evolve_steps import Scene, Step, column_named, unchanged
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.alter import Cache, RemoveTtl, SetOptions
from simulator.tidb.syntax.tables import TableOption

Values = Mapping[str, TableOption]
"""The options of one spec by name; of options said twice the last."""


def set_options(spec: SetOptions, scene: Scene) -> tuple[Step, ...]:
    """A step for each option, charset and TTL options together one; raises DdlError."""
    values = {option.name: option for option in spec.options}
    steps: list[Step] = []
    done: set[object] = set()
    for option in spec.options:
        change = OPTIONS.get(option.name)
        if change is None:
            raise worded("ddl:8200", "This type of ALTER TABLE is currently unsupported")
        if change not in done:
            steps += change(option, values, scene)
        if change in (charset, time_to_live):
            done.add(change)
    return tuple(steps)


def comment(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    if len(option.value.encode()) > 2048:
        raise worded("ddl:1628", f"Comment for table '{scene.table.name.lower()}' is too long (max = 2048)")
    return Step(actions.MODIFY_TABLE_COMMENT, lambda before: replace(before, comment=option.value)),


def charset(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    """The default of later columns."""
    named = "" if "CHARSET" not in values or values["CHARSET"].default else values["CHARSET"].value
    collated = values["COLLATE"].value if "COLLATE" in values else ""
    return charset_step(named, collated, False, scene)


def time_to_live(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    """TTL anew, or another of its settings; raises DdlError (TiDB: AlterTableTTLInfoOrEnable)."""
    table = scene.table
    texts = {name: one.value for name, one in values.items()}
    new = build_ttl(texts)
    if new is not None:
        check_ttl(new.column, table, scene)
    elif table.ttl is None:
        raise tidb("ddl:8150", "TTL_ENABLE" if "TTL_ENABLE" in values else "TTL_JOB_INTERVAL")
    else:
        new = replace(
            table.ttl,
            enabled=texts.get("TTL_ENABLE", "ON" if table.ttl.enabled else "OFF").upper() != "OFF",
            job_interval=texts.get("TTL_JOB_INTERVAL", table.ttl.job_interval),
        )
    return Step(actions.ALTER_TTL_INFO, lambda before: replace(before, ttl=new)),


def check_ttl(name: str, table: Table, scene: Scene) -> None:
    """TiDB: checkTTLInfoValid."""
    column = column_named(table, name)
    if column is None:
        raise tidb("ddl:1054", name, "TTL config")
    if family(column.type) not in ("date", "datetime"):
        raise tidb("ddl:8148", column.name)
    if any(referring(scene.catalog, table.schema, table.name)):
        raise tidb("ddl:8152")
    keys = {one.name: one.type for one in table.columns if one.name in table.primary_key}
    if table.clustered and any(family(type) == "float" for type in keys.values()):
        raise worded("ddl:8153", "Unsupported clustered primary key type FLOAT/DOUBLE for TTL")


def remove_ttl(spec: RemoveTtl, scene: Scene) -> tuple[Step, ...]:
    if scene.table.ttl is None:
        return ()
    return Step(actions.ALTER_TTL_REMOVE, lambda before: replace(before, ttl=None)),


def kept(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    """An option that changes no row."""
    table = scene.table
    if option.name == "SHARD_ROW_ID_BITS" and table.clustered and option.value.strip("0"):
        raise unsupported("shard_row_id_bits for table with primary key as row id")
    if option.name == "AUTO_RANDOM_BASE" and not any(column.auto_random for column in table.columns):
        raise tidb("ddl:8216", "alter auto_random_base of a non auto_random table")
    if option.name == "AUTO_ID_CACHE" and (option.value == "1") != (dict(table.options).get(option.name) == "1"):
        raise worded("ddl:1105", "Can't Alter AUTO_ID_CACHE between 1 and non-1, the underlying implementation is"
                                 " different")
    return Step(KEPT_ACTIONS[option.name], lambda before: with_option(before, option.name, option.value)),


def with_option(table: Table, name: str, value: str) -> Table:
    values = {**dict(table.options), name: value}
    return replace(table, options=tuple((one, values[one]) for one in KEPT_OPTIONS if one in values))


def placement(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    return Step(actions.ALTER_TABLE_PLACEMENT, unchanged),


def engine_attribute(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    raise tidb("ddl:3981")


def nothing(option: TableOption, values: Values, scene: Scene) -> tuple[Step, ...]:
    """ENGINE and ROW_FORMAT: TiDB reads them, and makes no job of them."""
    return ()


def cache(spec: Cache, scene: Scene) -> tuple[Step, ...]:
    """ALTER TABLE … CACHE and NOCACHE (TiDB: AlterTableCache)."""
    table, on = scene.table, spec.on
    if table.cached == on:
        return ()
    if on and table.partitioning is not None:
        raise tidb("ddl:8242", "partition mode")
    return Step(
        actions.ALTER_CACHE_TABLE if on else actions.ALTER_NO_CACHE_TABLE,
        lambda before: replace(before, cached=on),
    ),


KEPT_ACTIONS = MappingProxyType({
    "AUTO_INCREMENT": actions.REBASE_AUTO_ID,
    "AUTO_ID_CACHE": actions.MODIFY_TABLE_AUTO_ID_CACHE,
    "AUTO_RANDOM_BASE": actions.REBASE_AUTO_RANDOM_BASE,
    "SHARD_ROW_ID_BITS": actions.SHARD_ROW_ID,
})

OPTIONS: MappingProxyType[str, Callable[[TableOption, Values, Scene], tuple[Step, ...]]] = MappingProxyType({
    "COMMENT": comment,
    "CHARSET": charset,
    "COLLATE": charset,
    "TTL": time_to_live,
    "TTL_ENABLE": time_to_live,
    "TTL_JOB_INTERVAL": time_to_live,
    "AUTO_INCREMENT": kept,
    "AUTO_ID_CACHE": kept,
    "AUTO_RANDOM_BASE": kept,
    "SHARD_ROW_ID_BITS": kept,
    "PLACEMENT POLICY": placement,
    "ENGINE": nothing,
    "ROW_FORMAT": nothing,
    "ENGINE_ATTRIBUTE": engine_attribute,
})
