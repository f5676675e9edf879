"""The plugin for pytest, as a project uses it that tests a consumer."""

from __future__ import annotations

import doctest
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import simulator.api.pytest_plugin
import simulator.api.results
import simulator.api.session  # before pytester runs tests in this process: it forgets what they import

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
INSTALLED = any(found.value == "simulator.api.pytest_plugin" for found in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "simulator.api.pytest_plugin")
"""Where the package is installed, it brings the plugin."""

SHOP = "CREATE TABLE shop.item (id BIGINT PRIMARY KEY, stock INT)"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project whose warnings are errors."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    """In this process, which has imported what takes time."""
    return project.runpytest_inprocess(*options, plugins=[] if INSTALLED else [simulator.api.pytest_plugin])


def passed(project: pytest.Pytester, count: int, *options: str) -> None:
    run(project, *options).assert_outcomes(passed=count)


def test_a_test_gets_a_simulated_tidb(project: pytest.Pytester) -> None:
    """As the markers of test, class and module say, the closest one's word winning; once for each release that they
    name, which may stand by itself and on another marker."""
    project.makepyfile(
        test_one=f"""
        import pytest
        pytestmark = pytest.mark.ticdc(release="v6.5.6", seed=3)

        def test_one(ticdc):
            ticdc.execute({SHOP!r})
            assert ticdc.describe() == "TiCDC classic, v6.5.6, open-protocol, topic ticdc"
            assert ticdc.rows("shop.item") == []

        @pytest.mark.ticdc(release="v8.5.4", architecture="new", sink_uri="kafka://k:9092/t?protocol=canal-json")
        def test_two(ticdc):
            assert ticdc.describe() == "TiCDC new, v8.5.4, canal-json, topic t"

        @pytest.mark.ticdc(releases=["v6.5.6", "new:v8.5.4"])
        def test_each(ticdc, request):
            assert f"[{{ticdc.release}}]" in request.node.name
        """,
        test_other="""
        import pytest
        pytestmark = pytest.mark.ticdc(releases="v8.5.3")

        @pytest.mark.ticdc(seed=3)
        def test_it(ticdc, request):
            assert (request.node.name, ticdc.release) == ("test_it[v8.5.3]", "v8.5.3")
        """,
    )
    result = run(project, "-v")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*::test_each?v6.5.6? PASSED*", "*::test_each?new:v8.5.4? PASSED*"])


def test_a_marker_that_says_nothing_is_refused(project: pytest.Pytester) -> None:
    words = {
        "'v8.5.3'": "*@pytest.mark.ticdc takes names alone, such as release='v8.5.3', and got 'v8.5.3'*",
        "releases=8.5": "*@pytest.mark.ticdc: releases is 8.5; a list is expected, such as*",
        "releases=[]": "*@pytest.mark.ticdc: releases is *; a list is expected, such as*",
        "relase='v8.5.3'": "*unexpected keyword argument 'relase'*",
    }
    for number, (marker, line) in enumerate(words.items()):
        test = f"import pytest\n@pytest.mark.ticdc({marker})\ndef test_it(ticdc): pass\n"
        project.makepyfile(**{f"test_{number}": test})
        run(project, f"test_{number}.py").stdout.fnmatch_lines([line])


def test_every_call_has_a_golden_file_of_its_own(project: pytest.Pytester) -> None:
    """Of a test that calls twice, of parameters that no file can be called by, of classes with equal tests."""
    project.makepyfile(
        test_shop=f"""
        import pytest

        def test_twice(ticdc, ticdc_golden):
            ticdc.execute({SHOP!r})
            ticdc_golden(ticdc.messages())
            ticdc.execute("INSERT INTO shop.item VALUES (1, 5)")
            ticdc_golden(ticdc.messages())

        @pytest.mark.parametrize("name", ["a/b", "a:b", "a-b", ".."])
        def test_each(name, ticdc, ticdc_golden):
            ticdc.execute(f"CREATE DATABASE `{{name}}`")
            ticdc_golden(ticdc.messages())

        class TestOne:
            def test_it(self, ticdc, ticdc_golden):
                ticdc_golden(ticdc.messages())

        class TestTwo:
            def test_it(self, ticdc, ticdc_golden):
                ticdc.execute("CREATE DATABASE two")
                ticdc_golden(ticdc.messages())
                ticdc_golden(ticdc.messages(), "named/as-asked")
    """
    )
    passed(project, 7, "--rewrite-golden")
    passed(project, 7)
    files = (project.path / "golden" / "test_shop").rglob("*.jsonl")
    assert sorted(str(path.relative_to(project.path / "golden" / "test_shop")) for path in files) == [
        "TestOne.test_it.jsonl",
        "TestTwo.test_it.jsonl",
        "named/as-asked.jsonl",
        "test_each-...jsonl",
        "test_each-a%2Fb.jsonl",
        "test_each-a%3Ab.jsonl",
        "test_each-a-b.jsonl",
        "test_twice+2.jsonl",
        "test_twice.jsonl",
    ]


def test_a_name_that_leads_out_of_the_golden_files_is_refused(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.parametrize("name", ["../other", "/tmp/other", "a/../../../b", ".."])
        def test_it(name, ticdc, ticdc_golden):
            with pytest.raises(Exception, match="the name .* leads out of .*golden.*; expected is one such as 'after-"):
                ticdc_golden(ticdc.messages(), name)
    """)
    passed(project, 4, "--rewrite-golden")
    assert not list(project.path.rglob("*.jsonl"))


def test_two_tests_that_write_one_golden_file_differently_are_told(project: pytest.Pytester) -> None:
    project.makepyfile("""
        def test_one(ticdc, ticdc_golden): ticdc_golden(ticdc.messages(), "same")
        def test_two(ticdc, ticdc_golden): ticdc_golden(ticdc.messages(), "same")
        def test_three(ticdc, ticdc_golden):
            ticdc.execute("CREATE DATABASE three")
            ticdc_golden(ticdc.messages(), "same")
    """)
    result = run(project, "--rewrite-golden")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*same.jsonl has other messages, just written by another call: give one another *"])


def test_golden_files_are_written_compared_and_shown_where_they_differ(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_shop=f"""
        def test_stock(ticdc, ticdc_golden):
            ticdc.execute({SHOP!r})
            ticdc.execute("INSERT INTO shop.item VALUES (1, 5)")
            ticdc_golden(ticdc.messages())
    """
    )
    file = project.path / "golden" / "test_shop" / "test_stock.jsonl"
    result = run(project)
    result.stdout.fnmatch_lines(["*there is no golden file *test_stock.jsonl: pytest --rewrite-golden writes it*"])
    passed(project, 1, "--rewrite-golden")
    passed(project, 1)
    file.write_text(file.read_text().replace("stock=5", "stock=6"))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*-ticdc/0@2 * INSERT shop.item id=1 stock=6", "*+ticdc/0@2 * INSERT shop.item id=1 stock=5"]
    )


def test_files_of_a_storage_are_written_compared_and_shown_where_they_differ(project: pytest.Pytester) -> None:
    test = """
        import pytest

        @pytest.mark.ticdc(release="v8.0.0", sink_uri="file:///anywhere?protocol=csv&flush-interval=2s")
        def test_one(ticdc_storage, ticdc_golden, tmp_path):
            ticdc_storage.execute("CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (%s)")
            ticdc_golden(ticdc_storage.files())
            assert (tmp_path / "storage" / "metadata").exists()
        """
    project.makepyfile(test_files=test % 1)
    passed(project, 1, "--rewrite-golden")
    passed(project, 1)
    project.makepyfile(test_files=test % 2)
    failed = run(project)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        ["*the files differ from *test_one.jsonl*", '*-shop/item/*.csv:1 "I","item","shop",1', '*+*:1 "I",*,2']
    )


def test_who_does_not_use_it_pays_nothing(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import sys

        def test_it():
            assert not {"pyarrow", "numpy", "kafka", "sqlglot", "simulator.api.session"} & set(sys.modules)
    """)
    project.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)


@pytest.mark.kafka
def test_the_example_consumer_passes(kafka: str, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the Kafka that is here, its topic deleted."""
    for path in (ROOT / "scenarios" / "consumer").glob("*.py"):
        shutil.copy(path, project.path)
    monkeypatch.setenv("TICDC_SIM_KAFKA", kafka)
    passed(project, 19)


def test_without_kafka_a_test_is_skipped_and_fails_where_ci_says_so(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile("def test_it(ticdc_kafka): pass")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("TICDC_SIM_KAFKA", raising=False)
    monkeypatch.delenv("CI", raising=False)
    run(project).assert_outcomes(skipped=1)
    monkeypatch.setenv("CI", "true")
    run(project).assert_outcomes(errors=1)


@pytest.mark.kafka
def test_with_kafka_nothing_is_warned_of(kafka: str, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that has imported nothing yet, where all warnings are errors. What a test leaves unsent is sent before
    its topic is deleted."""
    project.makepyfile("def test_it(ticdc_kafka): ticdc_kafka.execute('CREATE TABLE t (id INT PRIMARY KEY)')")
    monkeypatch.setenv("TICDC_SIM_KAFKA", kafka)
    project.runpytest_subprocess(*PLUGIN, "-W", "error").assert_outcomes(passed=1)


PAGES = "".join((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/python.md"))
SHOWN = re.findall(r"^```python\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)


def test_what_docs_show_at_python_s_prompt_is_what_comes() -> None:
    prompts = [block for block in SHOWN if block.startswith(">>> ")]
    assert prompts
    for block in prompts:
        example = doctest.DocTestParser().get_doctest(block, {}, "docs/python.md", None, None)
        assert doctest.DocTestRunner(verbose=False).run(example) == doctest.TestResults(0, len(example.examples))


def test_the_tests_that_docs_show_pass(project: pytest.Pytester) -> None:
    for block in SHOWN:
        if name := re.match(r"# (test_\w+\.py)\n", block):
            (project.path / name[1]).write_text(block)
    passed(project, 5, "--rewrite-golden")
    passed(project, 5)
