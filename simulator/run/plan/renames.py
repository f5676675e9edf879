"""What the user says was renamed: `old=new`, a table or a column, as short as it is clear.

One law: a name means a column where exactly one table loses it and gains the other; else a table; else it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simulator.errors import UserError
from simulator.tidb.model.table import Table

Name = tuple[str, str]
Tables = Mapping[Name, Table]


@dataclass(frozen=True)
class Renames:
    tables: dict[Name, Name] = field(default_factory=dict)
    columns: dict[Name, dict[str, str]] = field(default_factory=dict)
    """Of each table, under its new name: new names by old ones."""


def renames(texts: Iterable[str], before: Tables, after: Tables) -> Renames:
    """What the texts say of these two states; raises UserError for one that says nothing, or several things."""
    found, columns = Renames(), []
    for old, new, text in map(_pair, texts):
        meant = _table(old, new, before, after)
        if meant is None:
            columns.append((old, new, text))
        else:
            found.tables[meant[0]] = meant[1]
    for old, new, text in columns:
        table, column, name = _column(old, new, text, before, after, found)
        found.columns.setdefault(table, {})[column] = name
    return found


def _pair(text: str) -> tuple[list[str], list[str], str]:
    old, equals, new = text.partition("=")
    if not equals or not old.strip() or not new.strip():
        raise UserError(f"--rename {text!r}: expected OLD=NEW, as in name=full_name, shop.t.name=full_name or a.t=b.t")
    return old.strip().split("."), new.strip().split("."), text


def _table(old: list[str], new: list[str], before: Tables, after: Tables) -> tuple[Name, Name] | None:
    """The table that is meant: there before and not after, and the other way round."""
    if len(old) > 2 or len(new) > 2:
        return None
    gone = [name for name in before if name not in after and _fits(old, name)]
    come = [name for name in after if name not in before and _fits(new, name)]
    if len(new) == 1 and len(gone) == 1:
        come = [name for name in come if name[0] == gone[0][0]] or come
    return (gone[0], come[0]) if len(gone) == len(come) == 1 else None


def _column(
    old: list[str], new: list[str], text: str, before: Tables, after: Tables, known: Renames
) -> tuple[Name, str, str]:
    """The table (by its new name) whose column is meant, and the two names as the table spells them."""
    found = []
    for name, table in before.items():
        then = known.tables.get(name, name)
        if then in after and (len(old) == 1 or _fits(old[:-1], name) or _fits(old[:-1], then)):
            lost, gained = _lost(table, after[then]), _lost(after[then], table)
            if old[-1].lower() in lost and new[-1].lower() in gained:
                found.append((then, lost[old[-1].lower()], gained[new[-1].lower()]))
    if len(found) == 1:
        return found[0]
    if found:
        tables = ", ".join(".".join(name) for name, _, _ in found)
        raise UserError(f"--rename {text!r} could mean a column of {tables}: write db.table.{old[-1]}={new[-1]}")
    raise UserError(
        f"--rename {text!r}: no table has a column {old[-1]!r} only before and {new[-1]!r} only after, and no table of "
        "these names comes and goes"
    )


def _lost(one: Table, other: Table) -> dict[str, str]:
    """Columns of the first that the second has not, by lower case."""
    known = {column.name.lower() for column in other.columns}
    return {column.name.lower(): column.name for column in one.columns if column.name.lower() not in known}


def _fits(parts: list[str], name: Name) -> bool:
    """Whether `table` or `schema.table` is that name."""
    return list(name[-len(parts):]) == parts
