"""What a `--master` is: the one that `auto` stands for, and the address at which its processes reach this machine, the
loopback if it is local.
"""

from __future__ import annotations

import os
import re
import socket
from functools import cache
from pathlib import Path

from simulator.channel import DriverHost
from simulator.errors import UserError
from simulator.settings import AUTO, IN_PROCESS, ON_SPARK

UNASSIGNED = "192.0.2.1"
"""A reserved address (RFC 5737). For a master URL without a host, the route to it selects the outgoing interface."""

MASTER = re.compile(r"^(?:spark|k8s)://(?:https?://)?([^:/,]+)(?::(\d+))?")


def chosen_master(master: str, in_process: bool) -> str:
    """Return the given master; for `auto` the one without Spark if work can be done `in_process`."""
    if master != AUTO:
        return master
    return IN_PROCESS if in_process else _submitted() or ON_SPARK


def _submitted() -> str | None:
    """Return the master of the `spark-submit` that started this program; None if none did."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    from pyspark import SparkConf

    master: str | None = SparkConf().get("spark.master")
    return master


def is_local(master: str) -> bool:
    """Whether Spark's tasks run in this environment, in processes that this one starts; true for `none`, without Spark."""
    return master == "none" or (master.startswith("local") and not is_local_cluster(master))


def is_local_cluster(master: str) -> bool:
    """Whether Spark plays a cluster on this machine: its executors have directories and a Python of their own."""
    return master.startswith("local-cluster")


def driver_host(master: str) -> DriverHost:
    """Return this machine's address for a master; raises UserError if there is no route to the master.

    Spark's own settings have precedence, as they also say where executors find Spark's driver.
    """
    if is_local(master) or is_local_cluster(master):
        return DriverHost()
    defaults = spark_defaults()
    host = defaults.get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP") or _local_address_towards(master)
    address = DriverHost(host, defaults.get("spark.driver.bindAddress", host))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address.bound, 0))
        except OSError as error:
            accepted = "spark.driver.bindAddress names one"
            raise UserError(f"{address.bound} is no address of this machine: {error.strerror}; {accepted}") from error
    return address


def _local_address_towards(master: str) -> str:
    """Return the local address of the route to a master: connecting a datagram socket selects it and sends nothing."""
    match = MASTER.match(master)
    host = match[1] if match else UNASSIGNED
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outwards:
        try:
            outwards.connect((host, int(match[2] or 7077) if match else 7077))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"--master {master}: there is no way to {host}: {why}") from error
        return str(outwards.getsockname()[0])


def conf_directory() -> Path:
    """Return the directory with Spark's settings, which need not exist."""
    if configured := os.environ.get("SPARK_CONF_DIR"):
        return Path(configured)
    try:
        from pyspark.find_spark_home import _find_spark_home

        home = _find_spark_home()
    except ImportError:  # no part of pyspark's public API
        import pyspark

        home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    return Path(home) / "conf"


@cache
def spark_defaults() -> dict[str, str]:
    """Return the user's settings in spark-defaults.conf and PYSPARK_SUBMIT_ARGS."""
    file = conf_directory() / "spark-defaults.conf"
    text = file.read_text("utf-8", "replace") if file.is_file() else ""
    from_file = {
        name: value.strip() for name, value in re.findall(r"^\s*(spark\.[^\s=:]+)\s*[\s=:]\s*(.*)$", text, re.M)
    }
    from_arguments = re.findall(
        r"--conf[ =]['\"]?(spark\.[^\s=]+)=([^\s'\"]*)", os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    )
    return from_file | dict(from_arguments)
