"""At which address of this machine the processes of a --master find it.

One law: with a master on this machine everything stays on the loopback.
"""

from __future__ import annotations

import os
import re
import socket
from functools import cache
from pathlib import Path

from simulator.channel import DriverHost
from simulator.errors import UserError

ANYWHERE = "192.0.2.1"
"""An address of nobody's (RFC 5737), for masters whose URL names no host: the way to it is the way out of here."""

MASTER = re.compile(r"^(?:spark|k8s)://(?:https?://)?([^:/,]+)(?::(\d+))?")


def is_local(master: str) -> bool:
    """Whether all of Spark runs on this machine, in processes that this one starts (`none`: without Spark)."""
    return master == "none" or master.startswith("local")


def place_of(master: str) -> DriverHost:
    """Where they find it; raises UserError where the master's host is not known.

    Spark's own settings come first, as Spark's driver is found in the same way.
    """
    if is_local(master):
        return DriverHost()
    given = of_defaults()
    host = given.get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP") or _on_the_way_to(master)
    place = DriverHost(host, given.get("spark.driver.bindAddress", host))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((place.bound, 0))
        except OSError as error:
            wanted = "spark.driver.bindAddress names one"
            raise UserError(f"{place.bound} is no address of this machine: {error.strerror}; {wanted}") from error
    return place


def _on_the_way_to(master: str) -> str:
    """A datagram socket chooses the address by the route when it is connected; nothing is sent."""
    found = MASTER.match(master)
    host = found[1] if found else ANYWHERE
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outwards:
        try:
            outwards.connect((host, int(found[2] or 7077) if found else 7077))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"--master {master}: there is no way to {host}: {why}") from error
        return str(outwards.getsockname()[0])


@cache
def of_defaults() -> dict[str, str]:
    """What a user has set in Spark's own spark-defaults.conf, and in PYSPARK_SUBMIT_ARGS."""
    from pyspark.find_spark_home import _find_spark_home

    directory = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    file = Path(directory) / "spark-defaults.conf"
    text = file.read_text("utf-8", "replace") if file.is_file() else ""
    found = {name: value.strip() for name, value in re.findall(r"^\s*(spark\.[^\s=:]+)\s*[\s=:]\s*(.*)$", text, re.M)}
    given = re.findall(r"--conf[ =]['\"]?(spark\.[^\s=]+)=([^\s'\"]*)", os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    return found | dict(given)
