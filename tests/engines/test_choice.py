"""Which master `--master auto` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulator.cli.load import options as load_options
from simulator.consumer.verify.engine import IN_PROCESS_BYTES, engine_of
from simulator.engines.spark.choice import chosen_master

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("master", "in_process", "chosen"),
    [("auto", True, "none"), ("auto", False, "local[*]"), ("local[2]", True, "local[2]"), ("none", False, "none")],
)
def test_auto_alone_is_a_choice(master: str, in_process: bool, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert chosen_master(master, in_process) == chosen


def test_verify_chooses_by_the_size_of_the_stream_and_load_by_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    sizes = IN_PROCESS_BYTES, IN_PROCESS_BYTES + 1
    assert [engine_of("auto", size).master for size in sizes] == ["none", "local[*]"]
    masters = [load_options.master_of({"master": "auto", "console": console}) for console in (True, False)]
    assert masters == ["none", "local[*]"]


def test_under_spark_submit_it_is_where_the_program_was_submitted(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen_master("auto", False) == spark.sparkContext.master == "local[2]"
    assert chosen_master("auto", True) == "none"
