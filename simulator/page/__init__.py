"""A page on a served TiDB, SQL at the left, the streams of its changefeeds at the right: its files, and the requests of its
script.

Everything is text for the script, which makes text nodes of it. A page loads nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from simulator.api.server import TiCDCServer
from simulator.changefeeds.served import ServedChangefeed
from simulator.changefeeds.spec import ChangefeedSpec, config_text
from simulator.errors import SimulatorError, SqlError, UserError, mask_secrets
from simulator.faults import FAULTS
from simulator.files import parse_toml
from simulator.openapi.go_json import BodyError, parse
from simulator.openapi.replica_config import masked, masked_uri
from simulator.page.messages import Decoded, Feed, answer_members, compare_feeds, message_members, reasons
from simulator.page.scripts import is_playable, open_shipped, open_text, scenario, story
from simulator.page.tidbs import PageTidb, PageTidbs
from simulator.releases.behaviour import EVERY
from simulator.run.scenario import find_shipped, shipped
from simulator.settings import DURATION
from simulator.tidb.parser.script import split_script

FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/ui/page.css": ("page.css", "text/css; charset=utf-8"),
    "/ui/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/ui/icon.svg": ("icon.svg", "image/svg+xml"),
}

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

ALIVE_SECONDS = 15.0
"""After which a stream without messages says that it is there."""

GRACE_SECONDS = 10.0
"""How long the transaction of a page without a stream stays open: it connects anew to see other changefeeds."""

BLACKHOLE = "blackhole://"
IN_MEMORY = "kafka://127.0.0.1:9092/"
"""Of a server that sends nothing to Kafka, before the topic."""

DIGITS = 20
"""From so many on, a text is no number that the page has sent."""

Body = Mapping[str, Any]


class Stream(NamedTuple):
    """A changefeed that a page watches."""

    tidb: PageTidb
    changefeed: ServedChangefeed
    next: int
    """The number of the next message."""


class Page:
    """Answers the requests of the pages of one served TiDB."""

    def __init__(self, served: TiCDCServer, sends: bool = False) -> None:
        """Changefeeds of the page never send to Kafka, though the server `sends` what others have created."""
        self._sends = sends
        self._wakers: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._run = uuid.uuid4().hex
        self._watching: dict[str, int] = {}
        """The streams of each session."""

        self._ending: asyncio.Future[Any] | None = None
        self._tidbs = PageTidbs(served, self._wake)
        self.routes = [
            *(Route(path, _file) for path in FILES),
            Route("/ui/state", _answered(self.state)),
            Route("/ui/lists", _answered(self.lists)),
            Route("/ui/message", _answered(self.message)),
            Route("/ui/compare", _answered(self.compare)),
            Route("/ui/save", _answered(self.save)),
            Route("/ui/events", self.events),
            Route("/ui/sql", _answered(self.sql), methods=["POST"]),
            Route("/ui/open", _answered(self.open), methods=["POST"]),
            Route("/ui/tidbs", _answered(self.fresh), methods=["POST"]),
            Route("/ui/changefeed/{act}", _answered(self.change), methods=["POST"]),
        ]

    async def close(self) -> None:
        """End the streams of events, and stop the TiDBs that the page has started."""
        self._closed = True
        self._wake_all()
        await self._tidbs.close()
        self._loop = None

    # -- what there is -----------------------------------------------------------------------------------------------

    async def state(self, request: Request) -> Body:
        """Return the TiDBs with their changefeeds."""
        return {"tidbs": [tidb.members() for tidb in self._tidbs]}

    async def lists(self, request: Request) -> Body:
        """Return what there is to choose from: releases, faults, and scenarios of the library."""
        return await asyncio.to_thread(lists)

    # -- SQL ---------------------------------------------------------------------------------------------------------

    async def sql(self, request: Request) -> Body:
        """Execute a script on TiDBs, up to the first statement that fails on the first of them. Return the answers, and how
        many statements are left."""
        body = await _body(request, session=str, sql=str, tidbs=list)
        if not body["tidbs"] or not all(type(number) is int for number in body["tidbs"]):
            raise UserError("tidbs: the numbers of TiDBs are expected")
        first, *others = [self._tidbs.get(number) for number in body["tidbs"]]
        session, answers = body["session"], list[dict[str, Any]]()
        try:
            statements = split_script(body["sql"], first.sql_mode(session))
        except SqlError as error:
            return {"answers": [{"sql": body["sql"], "elsewhere": [], **answer_members(error)}], "left": 0}
        for statement in statements:
            answer = answer_members(await first.execute(session, statement.text))
            elsewhere = []
            for tidb in others:
                other = answer_members(await tidb.execute(session, statement.text, first.log[-1].at_ms))
                if (other["error"], other.get("rows")) != (answer["error"], answer.get("rows")):
                    elsewhere.append({"tidb": tidb.title, **other})
            failed = answer["error"] is not None
            expected = failed and answer["error"]["number"] == statement.fails
            answers.append({"sql": statement.text, "expected": expected, "elsewhere": elsewhere, **answer})
            if failed and not expected:
                break
        for tidb in (first, *others):
            await tidb.deliver()
        return {"answers": answers, "left": len(statements) - len(answers)}

    # -- streams -----------------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """Stream the messages of changefeeds as server-sent events. Their transaction ends when the page is gone."""
        try:
            streams = [self._stream(text) for text in request.query_params.getlist("stream")]
        except SimulatorError as error:
            return _refused(error)
        session = request.query_params.get("session", "")
        headers = HEADERS | {"content-type": "text/event-stream", "x-accel-buffering": "no"}
        return StreamingResponse(self._events(streams, session), headers=headers)

    def _stream(self, text: str) -> Stream:
        """Return the stream of `tidb/changefeed/number`."""
        named, _, following = text.rpartition("/")
        return Stream(*self._changefeed(named), _number("stream", following))

    def _changefeed(self, text: str) -> tuple[PageTidb, ServedChangefeed]:
        number, _, name = text.partition("/")
        tidb = self._tidbs.get(_number("tidb", number))
        return tidb, tidb.changefeed(name)

    async def _events(self, streams: list[Stream], session: str) -> AsyncIterator[str]:
        waker, following = asyncio.Event(), [stream.next for stream in streams]
        self._loop = loop = asyncio.get_running_loop()
        self._wakers.add(waker)
        self._watching[session] = self._watching.get(session, 0) + 1
        seen = self._states()
        try:
            yield _event("hello", self._run)
            while not self._closed:
                waker.clear()
                for number, (tidb, changefeed, _) in enumerate(streams):
                    feed = tidb.feed(changefeed)
                    while found := await self._following(tidb, feed, following[number]):
                        following[number] = found[-1].number + 1
                        lines = [feed.line(each) for each in found]
                        yield _event("messages", json.dumps({"stream": number, "messages": lines}))
                        await asyncio.sleep(0)
                if seen != (seen := self._states()):
                    yield _event("changed", "")
                try:
                    async with asyncio.timeout(ALIVE_SECONDS):
                        await waker.wait()
                except TimeoutError:
                    yield ": alive\n\n"
        finally:
            self._wakers.discard(waker)
            self._watching[session] -= 1
            loop.call_later(GRACE_SECONDS, self._end, session)

    async def _following(self, tidb: PageTidb, feed: Feed, number: int) -> list[Decoded]:
        """Return the next messages from a number on."""
        if feed.next_number <= number < feed.changefeed.sent.next_number:
            await tidb.fetch(feed)
        return feed.since(number) if number < feed.next_number else []

    def _states(self) -> list[tuple[int, str, str]]:
        return [
            (tidb.number, each.spec.id, each.state) for tidb in self._tidbs for each in tidb.served.changefeeds.list()
        ]

    def _end(self, session: str) -> None:
        """End the sessions of a page that is gone."""
        if not self._watching.get(session, 0):
            self._watching.pop(session, None)
            self._ending = asyncio.gather(*(tidb.end_session(session) for tidb in self._tidbs))

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waker in self._wakers:
            waker.set()

    async def message(self, request: Request) -> Body:
        """Return a message: its bytes, its events, and why it looks so."""
        tidb, changefeed = self._chosen(request)
        number = _number("number", _parameter(request, "number"))
        feed = await tidb.whole_feed(changefeed)
        decoded = feed.get(number)
        why = await tidb.served.server.call(lambda: reasons(decoded, tidb.served, changefeed))
        return {**message_members(decoded), "why": why}

    async def compare(self, request: Request) -> Body:
        """Return what differs in two streams."""
        (one, a), (other, b) = (self._changefeed(_parameter(request, side)) for side in "ab")
        feeds = await one.whole_feed(a), await other.whole_feed(b)
        return await asyncio.to_thread(compare_feeds, *feeds)

    # -- changefeeds and TiDBs ---------------------------------------------------------------------------------------

    async def change(self, request: Request) -> Body:
        """Create, pause, resume or remove a changefeed."""
        act = request.path_params["act"]
        if act == "create":
            return await self._create(request)
        tidb, changefeed = self._chosen(request)
        acts = tidb.served.changefeeds
        work = {"pause": acts.pause, "resume": acts.resume, "remove": acts.remove}.get(act)
        if work is None:
            raise UserError(f"unknown act {act!r}. Known: create, pause, resume, remove")
        await asyncio.to_thread(work, changefeed.spec.name, changefeed.spec.namespace)
        return {}

    async def _create(self, request: Request) -> Body:
        body = await _body(
            request, tidb=int, name=str, protocol=str, partitions=int, options=str, config=str, history=bool
        )
        tidb = self._tidbs.get(body["tidb"])
        options = dict(parse_qsl(body["options"], keep_blank_values=True))
        query = {"protocol": body["protocol"], "partition-num": body["partitions"], **options}
        sink = BLACKHOLE if self._sends else f"{IN_MEMORY}{body['name']}"
        uri = f"{sink}?{urlencode(query)}"
        changefeeds = tidb.served.changefeeds
        start_ts = tidb.first_ts if body["history"] else 0
        spec = ChangefeedSpec(body["name"], uri, _text(body["config"]), start_ts)
        created = await asyncio.to_thread(changefeeds.create, spec)
        await tidb.deliver()
        return {"name": body["name"], "warnings": list(created.changefeed.warnings)}

    async def fresh(self, request: Request) -> Body:
        """Start a TiDB of another release with the same SQL and a changefeed like one that there is."""
        body = await _body(request, architecture=str, release=str, like=int, changefeed=str)
        tidb = self._tidbs.get(body["like"])
        compiled = tidb.changefeed(body["changefeed"]).changefeed
        made = await self._tidbs.fresh(
            f"{body['architecture']}:{body['release']}",
            compiled.sink_uri,
            _text(compiled.config),
            compiled.codec.time_zone,
            tidb.log,
        )
        return {"id": made.number}

    # -- files -------------------------------------------------------------------------------------------------------

    async def open(self, request: Request) -> Body:
        """Return a scenario of the library, or a file, as SQL; on a TiDB of its release if that is wanted."""
        body = await _body(request, fresh=bool)
        if "library" in body:
            opened = open_shipped(find_shipped(str(body["library"])))
        else:
            opened = open_text(str(body.get("name")), str(body.get("text")))
        if not body["fresh"]:
            return {"sql": opened.sql, "tidb": None}
        first = self._tidbs.get(0).served.release
        release = opened.release or f"{first.architecture}:{first.name}"
        made = await self._tidbs.fresh(release, opened.sink_uri, _text(opened.config), opened.time_zone)
        changefeed, *_ = made.served.changefeeds.list()
        return {"sql": opened.sql, "tidb": made.number, "changefeed": changefeed.spec.name}

    async def save(self, request: Request) -> Body:
        """Return what was executed as files: the suffix of each, and its text. Secrets of the changefeed are masked."""
        tidb, changefeed = self._chosen(request)
        if _parameter(request, "format") == "sql":
            return {"files": [[".sql", story(tidb.log)]]}
        compiled, release = changefeed.changefeed, tidb.served.release
        name = f"{_parameter(request, 'name')}-changefeed.toml" if compiled.config else ""
        uri = compiled.sink_uri.replace(BLACKHOLE, f"{IN_MEMORY}ticdc", 1)
        text = scenario(tidb.log, release, masked_uri(uri), compiled.codec.time_zone, name)
        return {"files": [[".toml", text], *([["-changefeed.toml", _masked_config(compiled.config)]] if name else [])]}

    def _chosen(self, request: Request) -> tuple[PageTidb, ServedChangefeed]:
        """Return the changefeed of the parameters `tidb` and `changefeed`."""
        return self._changefeed(f"{_parameter(request, 'tidb')}/{_parameter(request, 'changefeed')}")


async def _file(request: Request) -> Response:
    name, kind = FILES[request.url.path]
    return Response((files("simulator.page") / name).read_bytes(), headers=HEADERS | {"content-type": kind})


def _answered(work: Callable[[Request], Awaitable[Body]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return _json(await work(request))
        except SimulatorError as error:
            return _refused(error)

    return answer


def _refused(error: SimulatorError) -> Response:
    return _json({"error": mask_secrets("\n".join(map(str, error.args)))}, 400)


def _parameter(request: Request, name: str) -> str:
    """Return a parameter of the query; raises UserError."""
    value = request.query_params.get(name)
    if value is None:
        raise UserError(f"{name}: missing")
    return value


def _number(name: str, text: str) -> int:
    """Return a number that a request names; raises UserError."""
    if not (text.isdecimal() and len(text) < DIGITS):
        raise UserError(f"{name}: a number is expected, got {text!r}")
    return int(text)


def _json(document: Body, status: int = 200) -> Response:
    """Return an answer; bytes that are no UTF-8 are lone surrogates, which JavaScript takes, too."""
    return Response(json.dumps(document), status, HEADERS | {"content-type": "application/json"})


async def _body(request: Request, **kinds: type) -> dict[str, Any]:
    """Return the members of a body, some of which must be of a type. Raises UserError.

    A page elsewhere cannot send a body of this type without asking first.
    """
    if request.headers.get("content-type") != "application/json":
        raise UserError("the body has to be application/json")
    try:
        body = parse(await request.body())
    except BodyError as error:
        raise UserError(f"the body is not JSON: {error}") from None
    wrong = [name for name, kind in kinds.items() if not isinstance(body, dict) or type(body.get(name)) is not kind]
    if wrong:
        raise UserError(f"{', '.join(wrong)}: missing, or not of the right type")
    return body  # type: ignore[no-any-return]


def _text(config: str) -> str | None:
    """Return the text of a changefeed.toml so that it is taken for no path."""
    return f"{config}\n" if config.strip() else None


def _masked_config(text: str) -> str:
    """Return the text of a changefeed.toml; written anew if a secret in it had to be masked."""
    config = parse_toml(text)
    shown = masked("", config)
    return text if shown == config else config_text(shown)


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"


@cache
def lists() -> Body:
    """Return what a page offers, the same for all."""
    return {
        "releases": [[architecture, [f"v{tag}" for tag in reversed(tags)]] for architecture, tags in EVERY.items()],
        "faults": [
            {
                "name": name,
                "says": kind.says,
                "legal": kind.legal,
                "keys": [
                    {
                        "name": key,
                        "says": each.says,
                        "needed": key in kind.needs,
                        "example": "2s" if each.type is DURATION else "",
                    }
                    for key, each in kind.keys.items()
                ],
            }
            for name, kind in FAULTS.items()
            if "kafka" in kind.sinks
        ],
        "library": [
            {"name": each.name, "title": each.about.title, "story": each.about.story}
            for each in shipped().values()
            if is_playable(each)
        ],
    }
