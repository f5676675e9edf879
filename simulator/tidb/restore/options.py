"""Options of tables and partitions as TiDB writes them back and TiCDC sends them.

One law: what only TiDB reads stands in a comment of its feature; placement is left out, and time to live is turned off
(TiDB: pkg/parser/ast/ddl.go, TableOption.Restore; tiflow v8.5.3: cdc/owner/ddl_sink.go, addSpecialComment).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType

from simulator.tidb.restore.names import feature
from simulator.tidb.restore.restoring import quoted, string
from simulator.tidb.syntax.tables import TableOption

OFF = TableOption("TTL_ENABLE", "OFF", quoted=True)


def sent_options(options: Iterable[TableOption]) -> tuple[TableOption, ...]:
    """The options that TiCDC sends: TTL_ENABLE is dropped, and 'OFF' behind every TTL."""
    kept = (option for option in options if option.name != "TTL_ENABLE")
    return tuple(sent for option in kept for sent in ((option, OFF) if option.name == "TTL" else (option,)))


def restored_options(options: Iterable[TableOption]) -> str:
    """Each option behind a blank, which stays where TiCDC drops the option."""
    return "".join(f" {restored_option(option)}" for option in options)


def restored_option(option: TableOption, partition: bool = False) -> str:
    """One option, of a table or of a partition; empty for placement."""
    return WRITERS.get(option.name, plain)(option)


def plain(option: TableOption) -> str:
    return f"{option.name} = {option.value}"


def text(option: TableOption) -> str:
    return f"{option.name} = {string(option.value)}"


def word(option: TableOption) -> str:
    return f"{option.name} = {option.value.upper()}"


def ignored(kind: str) -> Callable[[TableOption], str]:
    """An option that TiDB reads and never keeps, as it says in a comment between blanks."""
    return lambda option: f"{option.name} = DEFAULT /* TableOption{kind} is not supported */ "


def in_feature(name: str, write: Callable[[TableOption], str] = plain) -> Callable[[TableOption], str]:
    """An option in a comment that only a TiDB with the feature reads."""
    return lambda option: feature(write(option), name)


def forced(write: Callable[[TableOption], str]) -> Callable[[TableOption], str]:
    """An option that FORCE may stand before."""
    return lambda option: (feature("FORCE", "force_inc") + " " if option.force else "") + write(option)


WRITERS: MappingProxyType[str, Callable[[TableOption], str]] = MappingProxyType({
    **dict.fromkeys((
        "COMMENT", "COMPRESSION", "CONNECTION", "PASSWORD", "DATA DIRECTORY", "INDEX DIRECTORY", "ENCRYPTION",
        "STATS_COL_CHOICE", "STATS_COL_LIST", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE",
    ), text),
    "ENGINE": lambda option: f"ENGINE = {option.value or repr('')}",
    "CHARSET": lambda option: f"DEFAULT CHARACTER SET = {option.value.upper()}",
    "COLLATE": lambda option: f"DEFAULT COLLATE = {option.value.upper()}",
    "AUTO_INCREMENT": forced(plain),
    "AUTO_RANDOM_BASE": forced(in_feature("auto_rand_base")),
    "AUTO_ID_CACHE": in_feature("auto_id_cache"),
    "SHARD_ROW_ID_BITS": in_feature(""),
    "PRE_SPLIT_REGIONS": in_feature(""),
    "STATS_PERSISTENT": ignored("StatsPersistent"),
    "PACK_KEYS": ignored("PackKeys"),
    "INSERT_METHOD": word,
    "STORAGE": lambda option: f"STORAGE {option.value}",
    "SECONDARY_ENGINE": lambda option: plain(option) if option.default else text(option),
    "TABLESPACE": lambda option: f"TABLESPACE = {quoted(option.value)}",
    "TTL": in_feature("ttl"),
    "TTL_ENABLE": in_feature("ttl", text),
    "TTL_JOB_INTERVAL": in_feature("ttl", text),
    "AFFINITY": in_feature("affinity", text),
    "PLACEMENT POLICY": lambda _: "",
})
