"""The Java of this machine, which Kafka and Spark run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from simulator.errors import UserError

JAVA_MINIMUM = 17
"""Of Kafka 4's brokers, and of Spark 4."""

VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(who: str) -> str:
    """The java program that JAVA_HOME or PATH names; raises UserError where there is none that is new enough for the
    one `who` needs it."""
    wanted = f"{who} needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if java is None:
        raise UserError(f"no Java found {f'under JAVA_HOME ({home})' if home else 'on PATH'}. {wanted}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {wanted}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {wanted}") from error
    found = VERSION.search(text)
    if found is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {wanted}")
    if int(found[1]) < JAVA_MINIMUM:
        raise UserError(f"Java {found[1]} is too old: {who} needs Java {JAVA_MINIMUM} or newer; point JAVA_HOME at one")
    return java
