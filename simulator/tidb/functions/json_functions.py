"""The JSON functions of MySQL (TiDB: pkg/expression/builtin_json.go, pkg/types/json_binary_functions.go).

A document comes as `documents.kept` writes it; a path, a key or any other text as it is. None is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from simulator.tidb.functions import json_paths
from simulator.tidb.functions.documents import (
    Document,
    Typed,
    checked,
    compare,
    depth,
    is_json,
    kept,
    parsed,
    printed,
    read,
    shown,
    size,
    sort_key,
    sorted_keys,
    type_name,
)
from simulator.tidb.functions.json_paths import Anywhere, Member, Path, Places, Steps
from simulator.tidb.functions.patterns import compiled_like
from simulator.tidb.functions.problems import Problem

Text = str | None

SEVERAL = Problem(3149, "In this situation, path expressions may not contain the * and ** tokens or range selection.")
NO_PATH = Problem(1105, "Invalid path expression")
NO_CELL = Problem(3165, "A path expression is not a path to a cell in an array.")


def of_text(text: Text) -> Text:
    """CAST(text AS JSON)."""
    return None if text is None else kept(parsed(text))


def _one(document: Document, path: Path) -> list[tuple[Steps, Document]]:
    """The value at a path. Raises Problem 3149 for a path to several."""
    if json_paths.is_several(path):
        raise SEVERAL
    return json_paths.found(document, path)


def extract(document: Text, *paths: Text) -> Text:
    if document is None:
        return None
    ways = []
    for path in paths:
        if path is None:
            return None
        ways.append(json_paths.parsed(path))
    values: dict[Steps, Document] = {}
    for way in ways:
        values |= {steps: value for steps, value in json_paths.found(read(document), way) if steps not in values}
    result = list(values.values())
    if not result:
        return None
    return kept(result[0] if len(ways) == 1 == len(result) and not json_paths.is_several(ways[0]) else result)


def unquote(text: Text) -> Text:
    if text is None or len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    if not is_json(text):
        raise Problem(3140, "Invalid JSON text: The document root must not be followed by other values.")
    return str(json.loads(text)).encode("utf-8", "replace").decode()


def unquote_document(document: Text) -> Text:
    return None if document is None else unquote(shown(document))


def valid(text: Text) -> Text:
    return None if text is None else str(int(is_json(text)))


def length(document: Text, *path: Text) -> Text:
    result = _at(document, path)
    return None if not result else str(len(result[0]) if isinstance(result[0], (list, dict)) else 1)


def keys(document: Text, *path: Text) -> Text:
    result = _at(document, path)
    return kept(list(sorted_keys(result[0]))) if result and isinstance(result[0], dict) else None


def _at(document: Text, path: Sequence[Text]) -> list[Document]:
    """The document, or what is at its path, if there is anything."""
    if document is None:
        return []
    if not path:
        return [read(document)]
    return [] if path[0] is None else [value for _, value in _one(read(document), json_paths.parsed(path[0]))]


def _measured(measure: Callable[[Document], object]) -> Callable[[Text], Text]:
    return lambda document: None if document is None else str(measure(read(document)))


def _indented(document: Document, indent: str = "") -> str:
    inner = f"{indent}  "
    if isinstance(document, list) and document:
        items = f",\n{inner}".join(_indented(item, inner) for item in document)
        return f"[\n{inner}{items}\n{indent}]"
    if isinstance(document, dict) and document:
        pairs = f",\n{inner}".join(
            f"{printed(key)}: {_indented(document[key], inner)}" for key in sorted_keys(document)
        )
        return f"{{\n{inner}{pairs}\n{indent}}}"
    return printed(document)


def quote(text: Text) -> Text:
    """In quotes as Go's strconv.Quote writes them."""
    if text is None:
        return None
    known = {
        '"': '\\"',
        "\\": "\\\\",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
    }
    return '"' + "".join(known.get(each) or _printable(each) for each in text) + '"'


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def array(*documents: Text) -> Text:
    return kept(checked([None if each is None else read(each) for each in documents]))


def object_of(*pairs: Text) -> Text:
    result: dict[str, Document] = {}
    for key, document in zip(pairs[::2], pairs[1::2], strict=True):
        if key is None:
            raise Problem(1105, "JSON documents may not contain NULL member names")
        result[key] = None if document is None else read(document)
    return kept(checked(result))


# -- what is in a document ---------------------------------------------------------------------------------------------


def contains(document: Text, target: Text, *path: Text) -> Text:
    if document is None or target is None:
        return None
    result = _at(document, path)
    return str(int(_contains(result[0], read(target)))) if result else None


def _contains(document: Document, target: Document) -> bool:
    if isinstance(document, dict):
        return isinstance(target, dict) and all(
            key in document and _contains(document[key], value) for key, value in target.items()
        )
    if isinstance(document, list):
        if isinstance(target, list):
            return all(_contains(document, each) for each in target)
        return any(_contains(each, target) for each in document)
    return compare(document, target) == 0


def contains_path(document: Text, which: Text, *paths: Text) -> Text:
    if document is None or which is None:
        return None
    every = _is_every(which)
    for path in paths:
        if path is None:
            return None
        if bool(json_paths.found(read(document), json_paths.parsed(path))) != every:
            return str(int(not every))
    return str(int(every))


def _is_every(which: str) -> bool:
    if which.lower() not in ("one", "all"):
        raise Problem(3154, "The second argument can only be either 'one' or 'all'.")
    return which.lower() == "all"


def overlaps(first: Text, second: Text) -> Text:
    if first is None or second is None:
        return None
    one, other = read(first), read(second)
    if not isinstance(one, list) and isinstance(other, list):
        one, other = other, one
    if isinstance(one, dict) and isinstance(other, dict):
        return str(int(any(key in one and compare(one[key], value) == 0 for key, value in other.items())))
    if isinstance(one, dict):
        return "0"
    left, right = (each if isinstance(each, list) else [each] for each in (one, other))
    return str(int(any(compare(a, b) == 0 for a in left for b in right)))


def member_of(target: Text, document: Text) -> Text:
    if target is None or document is None:
        return None
    result, wanted = read(document), read(target)
    return str(int(any(compare(each, wanted) == 0 for each in (result if isinstance(result, list) else [result]))))


def search(document: Text, which: Text, pattern: Text, escape: Text = None, *paths: Text) -> Text:
    if document is None or which is None:
        return None
    every = _is_every(which)
    if pattern is None:
        return None
    if len((escape or "").encode()) > 1:
        raise Problem(1210, "Incorrect arguments to ESCAPE")
    if None in paths:
        return None
    ways = [json_paths.parsed(path or "") for path in paths] or [()]
    fits = compiled_like(pattern, escape or "\\")
    result: list[str] = []
    for way in ways:
        for steps, value in json_paths.found(read(document), way, strict=True):
            for place, each in _all_in(value, steps):
                path = json_paths.written(place)
                if isinstance(each, str) and fits(each) and path not in result:
                    result.append(path)
    if not result:
        return None
    return kept(result[0] if len(result) == 1 or not every else list[Document](result))


def _all_in(document: Document, steps: Steps) -> Iterator[tuple[Steps, Document]]:
    yield steps, document
    for step, child in json_paths.children(document):
        yield from _all_in(child, (*steps, step))


# -- documents made of documents ---------------------------------------------------------------------------------------


def _modified(insert: bool, replace: bool) -> Callable[..., Text]:
    """JSON_SET, JSON_INSERT, JSON_REPLACE."""

    def modified(document: Text, *pairs: Text) -> Text:
        if document is None or None in pairs[::2]:
            return None
        ways = [json_paths.parsed(path or "") for path in pairs[::2]]
        if any(map(json_paths.is_several, ways)):
            raise NO_PATH
        result = read(document)
        for path, value in zip(ways, pairs[1::2], strict=True):
            new = None if value is None else read(value)
            there = json_paths.found(result, path)
            if there and replace:
                result = _with(result, there[0][0], new)
            elif not there and insert:
                result = _inserted(result, path, new)
        return kept(checked(result))

    return modified


def _with(document: Document, steps: Steps, value: Document) -> Document:
    """The document with another value in a place."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(document, dict):
        return {**document, str(step): _with(document[str(step)], tuple(rest), value)}
    assert isinstance(document, list) and isinstance(step, int)
    return [*document[:step], _with(document[step], tuple(rest), value), *document[step + 1 :]]


def _inserted(document: Document, path: Path, value: Document) -> Document:
    parents = json_paths.found(document, path[:-1])
    if not parents:
        return document
    (steps, parent), leg = parents[0], path[-1]
    if isinstance(leg, Places):
        return _with(document, steps, [*(parent if isinstance(parent, list) else [parent]), value])
    if isinstance(leg, Member) and isinstance(parent, dict):
        return _with(document, steps, {**parent, leg.name: value})
    return document


def remove(document: Text, *paths: Text) -> Text:
    if document is None or None in paths:
        return None
    result = read(document)
    for path in [json_paths.parsed(path or "") for path in paths]:
        if not path or json_paths.is_several(path):
            raise NO_PATH
        there = json_paths.found(result, path)
        parents = json_paths.found(result, path[:-1])
        if there and len(there[0][0]) > len(parents[0][0]):
            steps, parent = parents[0]
            last = there[0][0][-1]
            left: Document = (
                {key: value for key, value in parent.items() if key != last}
                if isinstance(parent, dict)
                else [value for place, value in json_paths.children(parent) if place != last]
            )
            result = _with(result, steps, left)
    return kept(result)


def array_append(document: Text, *pairs: Text) -> Text:
    if document is None:
        return None
    result = read(document)
    for path, value in zip(pairs[::2], pairs[1::2], strict=True):
        if path is None:
            return None
        for steps, there in _one(result, _parsed(path))[:1]:
            new = None if value is None else read(value)
            result = _with(result, steps, [*(there if isinstance(there, list) else [there]), new])
    return kept(checked(result))


def _parsed(path: str) -> Path:
    try:
        return json_paths.parsed(path)
    except Problem:
        raise Problem(
            3143, f"Invalid JSON path expression. The error is around character position %!d(string={path})."
        ) from None


def array_insert(document: Text, *pairs: Text) -> Text:
    if document is None:
        return None
    result = read(document)
    for path, value in zip(pairs[::2], pairs[1::2], strict=True):
        if path is None:
            return None
        way = _parsed(path)
        if json_paths.is_several(way):
            raise SEVERAL
        last = way[-1] if way else Anywhere()
        if not isinstance(last, Places) or last.start is None:
            raise NO_CELL
        for steps, there in json_paths.found(result, way[:-1])[:1]:
            if isinstance(there, list):
                place = max(json_paths.place_of(last.start, len(there)), 0)
                new = None if value is None else read(value)
                result = _with(result, steps, [*there[:place], new, *there[place:]])
    return kept(checked(result))


def merge_preserve(*documents: Text) -> Text:
    return None if None in documents else kept(checked(_merged([read(each or "") for each in documents])))


def _merged(documents: Sequence[Document]) -> Document:
    results: list[Document] = []
    joins = False
    for each in documents:
        last = results[-1] if joins else None
        if isinstance(each, dict) and isinstance(last, dict):
            both: dict[str, Document] = dict(last)
            for key, value in each.items():
                both[key] = _merged([both[key], value]) if key in both else value
            results[-1] = both
        else:
            results.append(each)
        joins = isinstance(each, dict)
    if len(results) == 1:
        return results[0]
    return [item for each in results for item in (each if isinstance(each, list) else [each])]


def merge_patch(*documents: Text) -> Text:
    """RFC 7396; a NULL that is not replaced by what follows it makes NULL."""
    result = [None if each is None else read(each) for each in documents]
    last = next(
        (
            place
            for place in range(len(result) - 1, -1, -1)
            if documents[place] is None or not isinstance(result[place], dict)
        ),
        0,
    )
    if documents[last] is None:
        return None
    target = result[last]
    for patch in result[last + 1 :]:
        target = _patched(target, patch)
    return kept(checked(target))


def _patched(target: Document, patch: Document) -> Document:
    if not isinstance(patch, dict):
        return patch
    made: dict[str, Document] = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = _patched(made.get(key), value)
    return made


def scalar(type: Text, shown: Text) -> Text:
    """A document of one value of a type."""
    if type is None or shown is None:
        return None
    if type == "DOUBLE":
        return kept(float(shown))
    return kept(shown if type == "STRING" else Typed(type, shown))


def key(document: Text) -> Text:
    """What orders documents as TiDB does."""
    return None if document is None else sort_key(read(document))


def pair(key: Text, document: Text) -> Text:
    """A member of an object."""
    if key is None:
        raise Problem(3158, "JSON documents may not contain NULL member names.")
    return f"{kept(key)}: {'null' if document is None else document}"


def kept_document(text: Text) -> Text:
    return None if text is None else shown(text)


JSON_FUNCTIONS: dict[str, Callable[..., Text]] = {
    "json_of_text": of_text,
    "json_scalar": scalar,
    "json_key": key,
    "json_pair": pair,
    "json_merged": lambda text: None if text is None else kept(read(text)),
    "json_shown": kept_document,
    "json_extract": extract,
    "json_unquote": unquote,
    "json_unquote_document": unquote_document,
    "json_valid": valid,
    "json_length": length,
    "json_keys": keys,
    "json_depth": _measured(depth),
    "json_type": _measured(type_name),
    "json_storage_size": _measured(
        lambda document: (1 if isinstance(document, bool) or document is None else size(document)) + 1
    ),
    "json_storage_free": _measured(lambda document: 0),
    "json_pretty": _measured(_indented),
    "json_quote": quote,
    "json_array": array,
    "json_object": object_of,
    "json_contains": contains,
    "json_contains_path": contains_path,
    "json_overlaps": overlaps,
    "json_member_of": member_of,
    "json_search": search,
    "json_set": _modified(insert=True, replace=True),
    "json_insert": _modified(insert=True, replace=False),
    "json_replace": _modified(insert=False, replace=True),
    "json_remove": remove,
    "json_array_append": array_append,
    "json_array_insert": array_insert,
    "json_merge_preserve": merge_preserve,
    "json_merge_patch": merge_patch,
}
"""By their names in SQL."""
