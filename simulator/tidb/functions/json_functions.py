"""The JSON functions of MySQL (TiDB: pkg/expression/builtin_json.go, pkg/types/json_binary_functions.go).

Documents are texts that `documents.dump` wrote; paths and keys are plain texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from simulator.tidb.errors import FunctionProblem, invalid_json
from simulator.tidb.functions import json_paths
from simulator.tidb.functions.json_paths import MULTIPLE_MATCHES, Steps
from simulator.tidb.functions.texts import like_matcher
from simulator.tidb.values import documents
from simulator.tidb.values.documents import (
    Document,
    check_depth,
    compare,
    dump,
    load,
    load_item,
    print_document,
    sorted_keys,
)


def json_of_text(text: str) -> str:
    """Return CAST(text AS JSON)."""
    return dump(documents.parse_json(text))


def json_extract(document: str | None, *paths: str | None) -> str | None:
    if document is None:
        return None
    ways = []
    for path in paths:
        if path is None:
            return None
        ways.append(json_paths.parse_path(path))
    values: dict[Steps, Document] = {}
    for way in ways:
        values |= {steps: value for steps, value in json_paths.find(load(document), way) if steps not in values}
    result = list(values.values())
    if not result:
        return None
    return dump(result[0] if len(ways) == 1 == len(result) and not json_paths.matches_multiple(ways[0]) else result)


def json_unquote(text: str) -> str:
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    if not documents.is_json(text):
        raise invalid_json()
    return str(json.loads(text)).encode("utf-8", "replace").decode()


def json_unquote_document(document: str) -> str:
    return json_unquote(documents.print_dumped(document))


def json_length(document: str, *path: str) -> int | None:
    result = _values_at(document, path)
    return None if not result else len(result[0]) if isinstance(result[0], (list, dict)) else 1


def json_keys(document: str, *path: str) -> str | None:
    result = _values_at(document, path)
    return dump(list(sorted_keys(result[0]))) if result and isinstance(result[0], dict) else None


def _values_at(document: str, path: Sequence[str]) -> list[Document]:
    """Return the document, or the value at the path if there is one. Raises FunctionProblem 3149."""
    legs = json_paths.parse_path(path[0]) if path else ()
    if json_paths.matches_multiple(legs):
        raise MULTIPLE_MATCHES
    return [value for _, value in json_paths.find(load(document), legs)]


def json_depth(document: str) -> int:
    return documents.depth(load(document))


def json_type(document: str) -> str:
    return documents.type_name(load(document))


def json_storage_size(document: str) -> int:
    value = load(document)
    return (1 if isinstance(value, bool) or value is None else documents.size(value)) + 1


def json_storage_free(document: str) -> int:
    return 0


def json_pretty(document: str) -> str:
    return _indent_document(load(document))


def _indent_document(document: Document, indent: str = "") -> str:
    inner = f"{indent}  "
    if isinstance(document, list) and document:
        items = f",\n{inner}".join(_indent_document(item, inner) for item in document)
        return f"[\n{inner}{items}\n{indent}]"
    if isinstance(document, dict) and document:
        pairs = f",\n{inner}".join(
            f"{print_document(key)}: {_indent_document(document[key], inner)}" for key in sorted_keys(document)
        )
        return f"{{\n{inner}{pairs}\n{indent}}}"
    return print_document(document)


def json_quote(text: str) -> str:
    """Return JSON_QUOTE, which escapes as Go's strconv.Quote does."""
    escapes = {letter: f"\\{name}" for letter, name in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)}
    return '"' + "".join(escapes.get(each) or _printable(each) for each in text) + '"'


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_array(*items: str | None) -> str:
    return dump(check_depth(list(map(load_item, items))))


def json_object(*pairs: str | None) -> str:
    result: dict[str, Document] = {}
    for key, document in zip(pairs[::2], pairs[1::2], strict=True):
        if key is None:
            raise FunctionProblem(1105, "JSON documents may not contain NULL member names")
        result[key] = load_item(document)
    return dump(check_depth(result))


# -- searching a document ----------------------------------------------------------------------------------------------


def json_contains(document: str, target: str, *path: str) -> bool | None:
    result = _values_at(document, path)
    return _contains(result[0], load(target)) if result else None


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


def json_contains_path(document: str | None, which: str | None, *paths: str | None) -> bool | None:
    if document is None or which is None:
        return None
    every = _is_every(which)
    for path in paths:
        if path is None:
            return None
        if bool(json_paths.find(load(document), json_paths.parse_path(path))) != every:
            return not every
    return every


def _is_every(which: str) -> bool:
    if which.lower() not in ("one", "all"):
        raise FunctionProblem(3150, "The second argument can only be either 'one' or 'all'.")
    return which.lower() == "all"


def json_overlaps(first: str, second: str) -> bool:
    one, other = load(first), load(second)
    if not isinstance(one, list) and isinstance(other, list):
        one, other = other, one
    if isinstance(one, dict) and isinstance(other, dict):
        return any(key in one and compare(one[key], value) == 0 for key, value in other.items())
    if isinstance(one, dict):
        return False
    left, right = (each if isinstance(each, list) else [each] for each in (one, other))
    return any(compare(a, b) == 0 for a in left for b in right)


def json_member_of(target: str, document: str) -> bool:
    result, searched = load(document), load(target)
    return any(compare(each, searched) == 0 for each in (result if isinstance(result, list) else [result]))


def json_search(
    document: str | None, which: str | None, pattern: str | None, escape: str | None = None, *paths: str | None
) -> str | None:
    if document is None or which is None:
        return None
    every = _is_every(which)
    if pattern is None:
        return None
    if len((escape or "").encode()) > 1:
        raise FunctionProblem(1210, "Incorrect arguments to ESCAPE")
    if None in paths:
        return None
    ways = [json_paths.parse_path(path or "") for path in paths] or [()]
    fits = like_matcher(pattern, escape or "\\")
    result: list[str] = []
    for way in ways:
        for steps, value in json_paths.find(load(document), way, strict=True):
            for place, each in _all_in(value, steps):
                path = json_paths.path_text(place)
                if isinstance(each, str) and fits(each) and path not in result:
                    result.append(path)
    if not result:
        return None
    return dump(result[0] if len(result) == 1 or not every else list[Document](result))


def _all_in(document: Document, steps: Steps) -> Iterator[tuple[Steps, Document]]:
    yield steps, document
    for step, child in json_paths.children(document):
        yield from _all_in(child, (*steps, step))


def json_key(document: str) -> str:
    """Return a text that sorts as TiDB compares documents."""
    return documents.sort_key(load(document))


def json_pair(key: str | None, document: str | None) -> str:
    """Return a member of an object."""
    if key is None:
        raise FunctionProblem(3158, "JSON documents may not contain NULL member names.")
    return f"{dump(key)}: {'null' if document is None else document}"


def json_merged(document: str) -> str:
    """Return an object of pairs, of which the last of each key counts."""
    return dump(load(document))
