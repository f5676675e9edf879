"""Files of filter rules, which a rule `@file` names: one rule a line.

One law: files are not imported by files. Source: tidb v8.5 pkg/util/table-filter/parser.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def imported(name: str, origin: str, may_import: bool) -> Iterator[tuple[str, str]]:
    """`file:number` and text of each line; raises ValueError, in TiDB's words."""
    if not may_import:
        raise ValueError(f"at {origin}: importing filter files recursively is not allowed")
    try:
        lines = Path(name).read_text("utf-8").split("\n")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: {why}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"at {origin}: cannot read filter file: {name} is not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"at {origin}: cannot open filter file: open {name}: invalid argument") from error
    for number, line in enumerate(lines, 1):
        yield f"{name}:{number}", line.removesuffix("\r")
