"""The command `serve`: a MySQL server until a signal comes."""

from __future__ import annotations

import asyncio
import ssl
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from simulator import releases, signals, tso
from simulator.api.server import TiCDCServer
from simulator.api.session import TiCDC, records
from simulator.cli.output import complain, show_lines, warn
from simulator.cli.shell import SINK_URI
from simulator.consumer.event_lines import lines
from simulator.errors import UserError
from simulator.serve.data_directory import DataDirectory


def serve(options: dict[str, Any]) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP, which ends the stream at a watermark; return the exit code."""
    tls, passwords = _tls(options["tls_cert"], options["tls_key"]), _passwords(options["users"])
    if options["resume"] and options["data"] is None:
        raise UserError("--resume needs --data DIR, which a server before has written")
    if options["console"] and options["fixtures"] is not None:
        raise UserError("--console and --fixtures exclude each other: choose one")
    sends = options["sink_uri"] is not None and not options["console"] and options["fixtures"] is None
    release = releases.find(options["release"] or releases.DEFAULT, options["architecture"])
    with ExitStack() as stack:
        start_ts, data = tso.compose(time.time_ns() // 1_000_000), None
        if options["data"] is not None:
            data = DataDirectory(options["data"], f"{release.architecture}:{release.name}", start_ts)
            stack.callback(data.close)
            start_ts = data.start_ts
        ticdc = TiCDC(
            release.name,
            release.architecture,
            sink_uri=options["sink_uri"] or SINK_URI,
            config=options["config"],
            start_ts=start_ts,
            seed=options["seed"] or 0,
            databases=(),
            fixtures=options["fixtures"],
            fixtures_format=options["fixtures_format"],
            send=sends,
            keep_history=False,
        )
        stack.enter_context(ticdc)
        warn(ticdc.warnings)
        takes = ticdc.open_changefeed.output.name != "storage"
        server = TiCDCServer(
            ticdc,
            host=options["host"],
            port=options["port"],
            passwords=passwords,
            authentication=options["authentication"],
            ssl=tls,
            real_time=True,
            data=data,
            resume=options["resume"],
            refuse_commits=options["when_kafka_fails"] == "refuse",
            after_statement=(lambda: _show(ticdc, options["console"])) if takes else None,
            tell=lambda line: complain([line]),
        )
        stack.callback(server.close)
        with signals.stop_gracefully() as stop:
            asyncio.run(_serve(server, ticdc, stop))
        server.close()
        ticdc.open_changefeed.resolve()
        if takes:
            _show(ticdc, options["console"])
        show_lines([f"stopped; everything up to {tso.describe(ticdc.watermark)} has been sent"])
    return 0


async def _serve(server: TiCDCServer, ticdc: TiCDC, stop: signals.StopRequest) -> None:
    def listening() -> None:
        show_lines([f"{ticdc.describe()}; MySQL clients: {server.host}:{server.port}, user root; Ctrl-C ends"])
        sys.stdout.flush()

    serving = asyncio.create_task(server.server.serve(listening))
    while not stop.number and not serving.done():
        await asyncio.wait([serving], timeout=0.1)
    server.server.stop()
    await serving


def _show(ticdc: TiCDC, console: bool) -> None:
    """Take the new messages, and print them on a console."""
    made = ticdc.messages(watermark=False)
    if console and made:
        schemas = {number: schema.text for number, schema in ticdc.schemas.items()}
        show_lines(lines(records(made), schemas=schemas))
        sys.stdout.flush()


def _passwords(users: tuple[str, ...]) -> Mapping[str, str] | None:
    pairs = [user.partition(":") for user in users]
    return {name: password for name, _, password in pairs} or None


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return the settings of TLS. Raises UserError for files that are no certificate and key."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise UserError("--tls-cert and --tls-key belong together: give both")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"--tls-cert {cert}, --tls-key {key}: they cannot be used: {error}") from None
    return context
