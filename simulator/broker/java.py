"""The Java installation for Kafka and Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from simulator.errors import UserError

JAVA_MINIMUM = 17
"""The minimum version of Kafka 4's brokers, and of Spark 4."""

VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(who: str) -> str:
    """Return the java program of JAVA_HOME or PATH; raise UserError, which names `who`, if none is new enough."""
    requirement = f"{who} needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if java is None:
        raise UserError(f"no Java found {f'under JAVA_HOME ({home})' if home else 'on PATH'}. {requirement}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {requirement}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {requirement}") from error
    match = VERSION.search(text)
    if match is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {requirement}")
    if int(match[1]) < JAVA_MINIMUM:
        raise UserError(f"Java {match[1]} is too old: {who} needs Java {JAVA_MINIMUM} or newer; point JAVA_HOME at one")
    return java
