"""JSON functions that change and merge documents (TiDB: pkg/expression/builtin_json.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.tidb.functions import json_paths
from simulator.tidb.functions.documents import check_depth, dump, load, load_item
from simulator.tidb.functions.json_paths import AnyDepth, ArrayRange, Member, Path, Steps
from simulator.tidb.functions.problems import FunctionProblem, invalid_path
from simulator.tidb.values.documents import Document

MULTIPLE_MATCHES = FunctionProblem(
    3149, "In this situation, path expressions may not contain the * and ** tokens or range selection."
)
INVALID_PATH = FunctionProblem(1105, "Invalid path expression")
NOT_A_CELL = FunctionProblem(3165, "A path expression is not a path to a cell in an array.")


def _modify(insert: bool, replace: bool) -> Callable[..., str | None]:
    def modified(document: str | None, *pairs: str | None) -> str | None:
        if document is None or None in pairs[::2]:
            return None
        ways = [json_paths.parse_path(path or "") for path in pairs[::2]]
        if any(map(json_paths.matches_multiple, ways)):
            raise INVALID_PATH
        result = load(document)
        for path, value in zip(ways, pairs[1::2], strict=True):
            new = load_item(value)
            current = json_paths.find(result, path)
            if current and replace:
                result = _replace_at(result, current[0][0], new)
            elif not current and insert:
                result = _insert_at(result, path, new)
        return dump(check_depth(result))

    return modified


json_set = _modify(insert=True, replace=True)
json_insert = _modify(insert=True, replace=False)
json_replace = _modify(insert=False, replace=True)


def _replace_at(document: Document, steps: Steps, value: Document) -> Document:
    """Return the document with another value at a position."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(document, dict):
        return {**document, str(step): _replace_at(document[str(step)], tuple(rest), value)}
    assert isinstance(document, list) and isinstance(step, int)
    return [*document[:step], _replace_at(document[step], tuple(rest), value), *document[step + 1 :]]


def _insert_at(document: Document, path: Path, value: Document) -> Document:
    parents = json_paths.find(document, path[:-1])
    if not parents:
        return document
    (steps, parent), leg = parents[0], path[-1]
    if isinstance(leg, ArrayRange):
        return _replace_at(document, steps, [*(parent if isinstance(parent, list) else [parent]), value])
    if isinstance(leg, Member) and isinstance(parent, dict):
        return _replace_at(document, steps, {**parent, leg.name: value})
    return document


def json_remove(document: str, *paths: str) -> str:
    result = load(document)
    for path in [json_paths.parse_path(path) for path in paths]:
        if not path or json_paths.matches_multiple(path):
            raise INVALID_PATH
        current = json_paths.find(result, path)
        parents = json_paths.find(result, path[:-1])
        if current and len(current[0][0]) > len(parents[0][0]):
            steps, parent = parents[0]
            last = current[0][0][-1]
            left: Document = (
                {key: value for key, value in parent.items() if key != last}
                if isinstance(parent, dict)
                else [value for place, value in json_paths.children(parent) if place != last]
            )
            result = _replace_at(result, steps, left)
    return dump(result)


def _change_arrays(change: Callable[[Document, Path, Document], Document]) -> Callable[..., str | None]:
    """Return a function that changes a document at each path of the pairs."""

    def changed(document: str | None, *pairs: str | None) -> str | None:
        if document is None:
            return None
        result = load(document)
        for path, value in zip(pairs[::2], pairs[1::2], strict=True):
            if path is None:
                return None
            try:
                legs = json_paths.parse_path(path)
            except FunctionProblem:
                raise invalid_path(f"%!d(string={path})") from None
            if json_paths.matches_multiple(legs):
                raise MULTIPLE_MATCHES
            result = change(result, legs, load_item(value))
        return dump(check_depth(result))

    return changed


def _append(document: Document, path: Path, item: Document) -> Document:
    for steps, current in json_paths.find(document, path)[:1]:
        return _replace_at(document, steps, [*(current if isinstance(current, list) else [current]), item])
    return document


def _insert(document: Document, path: Path, item: Document) -> Document:
    last = path[-1] if path else AnyDepth()
    if not isinstance(last, ArrayRange) or last.start is None:
        raise NOT_A_CELL
    for steps, current in json_paths.find(document, path[:-1])[:1]:
        if isinstance(current, list):
            place = max(json_paths.array_index(last.start, len(current)), 0)
            return _replace_at(document, steps, [*current[:place], item, *current[place:]])
    return document


json_array_append, json_array_insert = _change_arrays(_append), _change_arrays(_insert)


def json_merge_preserve(*documents: str) -> str:
    return dump(check_depth(_merge(list(map(load, documents)))))


def _merge(documents: Sequence[Document]) -> Document:
    results: list[Document] = []
    joins = False
    for each in documents:
        last = results[-1] if joins else None
        if isinstance(each, dict) and isinstance(last, dict):
            both: dict[str, Document] = dict(last)
            for key, value in each.items():
                both[key] = _merge([both[key], value]) if key in both else value
            results[-1] = both
        else:
            results.append(each)
        joins = isinstance(each, dict)
    if len(results) == 1:
        return results[0]
    return [item for each in results for item in (each if isinstance(each, list) else [each])]


def json_merge_patch(*documents: str | None) -> str | None:
    """Return JSON_MERGE_PATCH (RFC 7396); NULL if a NULL follows the last document that is no object."""
    result = list(map(load_item, documents))
    others = [place for place, each in enumerate(result) if documents[place] is None or not isinstance(each, dict)]
    last = others[-1] if others else 0
    if documents[last] is None:
        return None
    target = result[last]
    for patch in result[last + 1 :]:
        target = _patch(target, patch)
    return dump(check_depth(target))


def _patch(target: Document, patch: Document) -> Document:
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Document] = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _patch(merged.get(key), value)
    return merged
