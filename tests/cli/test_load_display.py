"""What a load run shows: the live line, closing lines, the summary, the report and the metrics, however it ends."""

from __future__ import annotations

import fcntl
import html
import json
import os
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs

from simulator.cli import page as pages
from simulator.cli.load import display, report, summary
from simulator.cli.load.display import ReportOptions, open_metrics, show_progress
from simulator.cli.load.monitor import LoadMonitor, Metrics, Setup
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.errors import DeliveryError, UserError
from simulator.load.lag_search import LagSample, SearchResult
from simulator.load.statistics import LoadStatus, SentWindow
from simulator.sinks.records import Latencies

NASTY = "shop.<b>&\x1b[31m"

SETUP = Setup(
    plan="shop <1>",
    tables=("shop.customer", NASTY),
    topics={"shop": 2, "audit": 1},
    protocol="canal-json",
    release="v8.5.3",
    architecture="classic",
    seed=7,
    rate="1000",
    resolved_interval_ms=1000,
    driver="kafka-python 3.0.12",
    engine="in process",
    sink="kafka://127.0.0.1:9092/shop?protocol=canal-json",
    duration=120.0,
    group="billing",
)

START = 1_700_000_000.0


def windows(seconds: int = 120, rows: int = 1000) -> Iterator[SentWindow]:
    """One a second, to two of the three partitions, for which 1,000 rows a second are asked."""
    for second in range(seconds):
        at = START + second
        parts = {("shop", 0): (rows // 4, rows // 4, 25 * rows), ("shop", 1): (3 * rows // 4, 3 * rows // 4, 75 * rows)}
        end_ms = 1000 * second + 1000
        yield SentWindow(
            1000 * second,
            end_ms,
            (1735689600000 + end_ms) << 18,
            1000.0,
            at,
            at,
            at + 0.99,
            0.2,
            {(0, INSERT): rows // 2, (1, UPDATE): rows // 4, (1, DELETE): rows // 4},
            parts,
            Latencies.of([0.02, 0.2], [99 * rows // 100, rows // 100]),
            resent=rows // 1000,
        )


@pytest.fixture(scope="module")
def monitor() -> LoadMonitor:
    found = LoadMonitor(SETUP)
    for window in windows():
        found.sent(window)
        found.sampled(LagSample(window.ended, 5000, 3800))
    found.finish("", SearchResult(900.0, 1000.0, 50.0))
    return found


def test_the_live_line_says_how_it_goes() -> None:
    now = LoadStatus(
        1_234_567, 3 << 20, 59_980.2, 24.4 * (1 << 20), 60_000.0, 0.2, 1 << 19, 0.0241, 1735689600000 << 18
    )

    assert display.line(now, 1200, "kafka-python 3.0.12") == (
        "asked 60,000 rows/s, reached 59,980 rows/s · 1,234,567 rows · 3.0 MiB, 24.4 MiB/s · in flight 0.5 MiB · "
        "lag 1,200 · p99 24 ms · watermark 2025-01-01 00:00:00 · kafka-python 3.0.12"
    )
    at_once = LoadStatus(5, 100, 5.0, 100.0, 0.0, 0.0, 0, 0.0, 0)
    assert display.line(at_once, None, "jsonl") == (
        "as fast as possible, 5 rows/s · 5 rows · 100 bytes, 100 bytes/s · in flight 0 bytes · jsonl"
    )
    at_first = replace(at_once, target_rate=None)
    assert display.line(at_first, None, "jsonl").startswith("as fast as possible, 5 rows/s")
    assert display.line(at_first, None, "jsonl", "", "1000").startswith("asked 1000, reached 5 rows/s")
    assert display.line(at_once, None, "files", "", "1000", False).startswith(
        "rate 1000 in simulated time, written as fast as possible, 5 rows/s"
    )
    late = LoadStatus(5, 100, 5.0, 100.0, 10.0, 31.24, 0, 0.0, 0)
    silent = display.line(late, None, "kafka-python", "Kafka has acknowledged nothing since 12:00:00")
    assert "31.2 s behind" in silent and silent.endswith("since 12:00:00") and "kafka-python" not in silent


def test_a_line_comes_without_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PLAIN", 0.01)
    end = time.monotonic() + 10
    with display.LoadProgressLine(LoadMonitor(SETUP)).following():
        while "asked 1000, reached 0 rows/s" not in capfd.readouterr().err:
            assert time.monotonic() < end


@contextmanager
def displayed(
    summary: Path | None = None, report: Path | None = None, rows: int = 1000, stderr: bool = False
) -> Iterator[None]:
    """A run that has sent its windows."""
    files = ReportOptions(summary, report)
    with open_metrics(files) as metrics, show_progress(SETUP, files, metrics, stderr=stderr) as shown:
        for window in windows(rows=rows):
            shown.monitor.sent(window)
        yield


@pytest.mark.slow
def test_a_run_that_ends_well_says_what_it_did(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with displayed(tmp_path / "s.json", tmp_path / "r.html"):
        pass
    out, err = capfd.readouterr()

    assert err == ""
    assert [line.split() for line in out.splitlines() if line.startswith(("shop.", "shop ", "audit"))] == [
        ["shop.customer", "60,000", "0", "0"],
        ["shop.<b>&\\x1b[31m", "0", "30,000", "30,000"],
        ["audit", "0", "0", "0", "0", "455000645959680000"],
        ["shop", "0", "30,000", "30,000", "3,000,000", "455000645959680000"],
        ["shop", "1", "90,000", "90,000", "9,000,000", "455000645959680000"],
    ]
    assert out.splitlines()[-5:] == [
        "120,000 row changes in 120,000 messages, 11.4 MiB, 120.0 s (1,000 rows/s, 0.1 MiB/s), by kafka-python 3.0.12",
        "rate: asked 1,000 rows/s on average, reached 1,000 (100.0 %)",
        "acknowledged within: p50 20 ms, p90 20 ms, p99 20 ms, p99.9 200 ms, at most 200 ms",
        "sent again: 120 records; 0 windows, as a process was lost",
        "complete up to watermark 455000645959680000 (2025-01-01 00:02:00.000 UTC)",
    ]
    assert {"s.json", "r.html", pages.PLOTLY} == {path.name for path in tmp_path.iterdir()}


def test_a_rate_that_is_not_reached_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    with displayed(rows=800, stderr=True):
        pass
    out, err = capfd.readouterr()

    assert out == ""
    assert "rate: asked 1,000 rows/s on average, reached 800 (80.0 %)" in err
    assert "rate not reached: over 60 s more than 2 % below what was asked, the first time at" in err


def test_a_run_that_fails_says_so_in_all_it_leaves(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On standard error, why once, by the command line; what cannot be written is a warning then."""
    summary, gone = tmp_path / "s.json", tmp_path / "gone"
    gone.mkdir()
    with pytest.raises(DeliveryError, match="^Kafka is gone$"), displayed(summary, gone / "r.html"):
        gone.rmdir()
        raise DeliveryError("Kafka is gone")
    out, err = capfd.readouterr()

    assert out == ""
    assert "Kafka is gone" not in err and "0 row changes" in err and "warning: cannot write the report" in err
    assert "Kafka is gone" == json.loads(summary.read_text())["ended_early"]


def test_the_summary_has_all_for_programs(monitor: LoadMonitor, tmp_path: Path) -> None:
    summary.write(monitor, tmp_path / "s.json")
    told = json.loads((tmp_path / "s.json").read_text())
    series = told.pop("series")
    wanted = {"plan": "shop <1>", "protocol": "canal-json", "release": "v8.5.3", "architecture": "classic", "seed": 7}
    wanted |= {"rows": 120_000, "messages": 120_000, "bytes": 12_000_000, "windows": 120, "retried_windows": 0}
    wanted |= {"resent_records": 120, "watermark": 455000645959680000, "simulated_ms": 120_000, "ended_early": None}
    rate = {"given": "1000", "asked_rows_per_second": 1000.0, "seconds_not_reached": 0, "not_reached": []}
    found = {"sustained": 900.0, "too_much": 1000.0, "growth": 50.0, "at_most": False, "group": "billing"}

    assert wanted.items() <= told.items() and rate.items() <= told["rate"].items() and found == told["sustained"]
    assert {"inserted": 0, "updated": 30_000, "deleted": 30_000} == told["tables"][NASTY]
    assert {"topic": "audit", "partition": 0, "rows": 0, "messages": 0, "bytes": 0} == told["partitions"][0]
    assert (120_000, 200.0) == (told["latency"]["records"], told["latency"]["max_ms"])
    assert 1.0 == series.pop("seconds_a_point")
    assert {120} == {len(values) for values in series.values()}
    assert {1200} == set(series["lag"]) and {1000.0} == set(series["asked_rows_per_second"])


def test_the_report_needs_nothing_but_the_file_beside_it(monitor: LoadMonitor, tmp_path: Path) -> None:
    report.write(monitor, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    texts = {html.unescape(text).strip() for text in re.split(r"<[^>]*>", body)}

    assert re.findall(r'(?:src|href)="([^"]*)"', page) == [pages.PLOTLY] and "Plotly.newPlot" in page
    assert (tmp_path / pages.PLOTLY).read_text("utf-8") == get_plotlyjs()
    charts = {"rate", "acknowledgement", "bytes", "lag", "behind", "partitions"}
    assert charts <= {*re.findall(r'id="chart-(\w+)"', page)}
    assert {"Load: shop <1>", "shop.<b>&\x1b[31m", "shop/1", "90,000", "900", "kafka-python 3.0.12", "2 min"} <= texts
    assert "sustained 900 rows/s: at 1,000 the lag of group billing grew by 50 records/s" in texts


@pytest.mark.slow
def test_the_script_beside_is_its_own(monitor: LoadMonitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A different one of its name stays, and is told; one that is right is not written again, nor beside a pipe."""
    script = tmp_path / pages.PLOTLY
    script.write_text("mine")
    report.write(monitor, tmp_path / "r.html")
    assert script.read_text() == "mine"
    assert f"warning: {script} is left as it is, and is not the plotly.js" in capsys.readouterr().err.replace("\n", " ")
    script.unlink()
    report.write(monitor, tmp_path / "r.html")
    written = script.stat()
    report.write(monitor, tmp_path / "other.html")
    assert (written.st_ino, written.st_mtime_ns) == (script.stat().st_ino, script.stat().st_mtime_ns)
    assert capsys.readouterr().err == ""

    (tmp_path / "sub").mkdir()
    pipe = tmp_path / "sub/pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 1 << 20)
    report.write(monitor, pipe)
    assert os.read(reading, 15) == b"<!DOCTYPE html>" and [pipe] == list((tmp_path / "sub").iterdir())
    os.close(reading)


@pytest.mark.slow
def test_prometheus_gets_each_metric_by_its_name(monitor: LoadMonitor) -> None:
    metrics = Metrics()
    with metrics.served(0) as port:
        assert [] == scraped(port)
        metrics.monitor = monitor
        found = scraped(port)

    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in found)}
    wanted = {
        'rows_total{operation="inserted",table="shop.customer"}': 60_000,
        'messages_total{topic="shop"}': 120_000,
        'messages_total{topic="audit"}': 0,
        'bytes_total{topic="shop"}': 12e6,
        'acknowledgement_seconds_bucket{le="0.05"}': 118_800,
        **{"windows_total": 120, "retries_total": 0, "resent_records_total": 120, "asked_rows_per_second": 1000},
        **{"behind_seconds": 0.2, "watermark_seconds": 1735689720, "lag_records": 1200, "in_flight_bytes": 0},
    }
    assert {name: values[f"ticdc_load_{name}"] for name in wanted} == wanted
    counts = [value for name, value in values.items() if "acknowledgement_seconds_bucket" in name]
    assert counts == sorted(counts) and counts[-1] == 120_000
    names = {re.split(r"[{ ]|_(?:bucket|sum|count)\b", line)[0] for line in found}
    documented = (Path(__file__).parents[2] / "docs" / "load.md").read_text("utf-8")
    assert {name for name in names if name not in documented} == set()


def scraped(port: int, host: str = "127.0.0.1") -> list[str]:
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=10) as answer:
        return [line for line in answer.read().decode().splitlines() if not line.startswith("#")]


@pytest.mark.slow
def test_metrics_are_for_this_machine_unless_another_address_is_asked() -> None:
    others = "127.0.0.2"
    with Metrics().served(0) as port, pytest.raises(OSError, match="refused"):
        scraped(port, others)
    with Metrics().served(0, "0.0.0.0") as port:
        assert scraped(port, others) == scraped(port) == []


def test_a_place_where_metrics_cannot_be_is_refused_before_anything_starts() -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        for options, words in (
            (ReportOptions(metrics_port=9099, metrics_address="192.0.2.7"), "--metrics-address 192.0.2.7: .* such as "),
            (ReportOptions(metrics_port=9099, metrics_address="no.such.host.invalid"), ".* such as 127.0.0.1"),
            (ReportOptions(metrics_port=9099, metrics_address="1.2"), "--metrics-address 1.2: .* such as 127.0.0.1"),
            (ReportOptions(metrics_port=port), f"--metrics-port {port}: Address already in use; give a port"),
        ):
            with pytest.raises(UserError, match=f"^{words}"), open_metrics(options):
                raise AssertionError("it is open")
