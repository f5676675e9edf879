"""The JSON functions of MySQL (TiDB: pkg/expression/builtin_json.go, pkg/types/json_binary_functions.go).

Documents are texts that `documents.dump` wrote; paths and keys are plain texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from simulator.tidb.functions import json_paths
from simulator.tidb.functions.documents import (
    Document,
    TypedScalar,
    check_depth,
    compare,
    depth,
    dump,
    is_json,
    load,
    parse_json,
    print_document,
    print_dumped,
    size,
    sort_key,
    sorted_keys,
    type_name,
)
from simulator.tidb.functions.json_changes import (
    array_append,
    array_insert,
    merge_patch,
    merge_preserve,
    modify,
    remove,
    single_value,
)
from simulator.tidb.functions.json_paths import Steps
from simulator.tidb.functions.patterns import compile_like
from simulator.tidb.functions.problems import FunctionProblem
from simulator.tidb.functions.strict import Text, strict


@strict
def of_text(text: str) -> Text:
    """Return CAST(text AS JSON)."""
    return dump(parse_json(text))


def extract(document: Text, *paths: Text) -> Text:
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


def unquote(text: Text) -> Text:
    if text is None or len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    if not is_json(text):
        raise FunctionProblem(3140, "Invalid JSON text: The document root must not be followed by other values.")
    return str(json.loads(text)).encode("utf-8", "replace").decode()


@strict
def unquote_document(document: str) -> Text:
    return unquote(print_dumped(document))


@strict
def valid(text: str) -> Text:
    return str(int(is_json(text)))


def length(document: Text, *path: Text) -> Text:
    result = _values_at(document, path)
    return None if not result else str(len(result[0]) if isinstance(result[0], (list, dict)) else 1)


def keys(document: Text, *path: Text) -> Text:
    result = _values_at(document, path)
    return dump(list(sorted_keys(result[0]))) if result and isinstance(result[0], dict) else None


def _values_at(document: Text, path: Sequence[Text]) -> list[Document]:
    """Return the document, or the value at the path if there is one."""
    if document is None:
        return []
    if not path:
        return [load(document)]
    return (
        [] if path[0] is None else [value for _, value in single_value(load(document), json_paths.parse_path(path[0]))]
    )


def _measure(measure: Callable[[Document], object]) -> Callable[[Text], Text]:
    return lambda document: None if document is None else str(measure(load(document)))


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


@strict
def quote(text: str) -> Text:
    """Return JSON_QUOTE, which escapes as Go's strconv.Quote does."""
    escapes = {
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
    return '"' + "".join(escapes.get(each) or _printable(each) for each in text) + '"'


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def array(*documents: Text) -> Text:
    return dump(check_depth([None if each is None else load(each) for each in documents]))


def object_of(*pairs: Text) -> Text:
    result: dict[str, Document] = {}
    for key, document in zip(pairs[::2], pairs[1::2], strict=True):
        if key is None:
            raise FunctionProblem(1105, "JSON documents may not contain NULL member names")
        result[key] = None if document is None else load(document)
    return dump(check_depth(result))


# -- searching a document ----------------------------------------------------------------------------------------------


def contains(document: Text, target: Text, *path: Text) -> Text:
    if document is None or target is None:
        return None
    result = _values_at(document, path)
    return str(int(_contains(result[0], load(target)))) if result else None


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
        if bool(json_paths.find(load(document), json_paths.parse_path(path))) != every:
            return str(int(not every))
    return str(int(every))


def _is_every(which: str) -> bool:
    if which.lower() not in ("one", "all"):
        raise FunctionProblem(3154, "The second argument can only be either 'one' or 'all'.")
    return which.lower() == "all"


@strict
def overlaps(first: str, second: str) -> Text:
    one, other = load(first), load(second)
    if not isinstance(one, list) and isinstance(other, list):
        one, other = other, one
    if isinstance(one, dict) and isinstance(other, dict):
        return str(int(any(key in one and compare(one[key], value) == 0 for key, value in other.items())))
    if isinstance(one, dict):
        return "0"
    left, right = (each if isinstance(each, list) else [each] for each in (one, other))
    return str(int(any(compare(a, b) == 0 for a in left for b in right)))


@strict
def member_of(target: str, document: str) -> Text:
    result, searched = load(document), load(target)
    return str(int(any(compare(each, searched) == 0 for each in (result if isinstance(result, list) else [result]))))


def search(document: Text, which: Text, pattern: Text, escape: Text = None, *paths: Text) -> Text:
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
    fits = compile_like(pattern, escape or "\\")
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


@strict
def scalar(type: str, shown: str) -> Text:
    """Return a document of one scalar."""
    if type == "DOUBLE":
        return dump(float(shown))
    return dump(shown if type == "STRING" else TypedScalar(type, shown))


@strict
def key(document: str) -> Text:
    """Return a text that sorts as TiDB compares documents."""
    return sort_key(load(document))


def pair(key: Text, document: Text) -> Text:
    """Return a member of an object."""
    if key is None:
        raise FunctionProblem(3158, "JSON documents may not contain NULL member names.")
    return f"{dump(key)}: {'null' if document is None else document}"


@strict
def kept_document(text: str) -> Text:
    return print_dumped(text)


JSON_FUNCTIONS: dict[str, Callable[..., Text]] = {
    "json_of_text": of_text,
    "json_scalar": scalar,
    "json_key": key,
    "json_pair": pair,
    "json_merged": lambda text: None if text is None else dump(load(text)),
    "json_shown": kept_document,
    "json_extract": extract,
    "json_unquote": unquote,
    "json_unquote_document": unquote_document,
    "json_valid": valid,
    "json_length": length,
    "json_keys": keys,
    "json_depth": _measure(depth),
    "json_type": _measure(type_name),
    "json_storage_size": _measure(
        lambda document: (1 if isinstance(document, bool) or document is None else size(document)) + 1
    ),
    "json_storage_free": _measure(lambda document: 0),
    "json_pretty": _measure(_indent_document),
    "json_quote": quote,
    "json_array": array,
    "json_object": object_of,
    "json_contains": contains,
    "json_contains_path": contains_path,
    "json_overlaps": overlaps,
    "json_member_of": member_of,
    "json_search": search,
    "json_set": modify(insert=True, replace=True),
    "json_insert": modify(insert=True, replace=False),
    "json_replace": modify(insert=False, replace=True),
    "json_remove": remove,
    "json_array_append": array_append,
    "json_array_insert": array_insert,
    "json_merge_preserve": merge_preserve,
    "json_merge_patch": merge_patch,
}
"""By their names in SQL."""
