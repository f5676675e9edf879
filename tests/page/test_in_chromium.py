"""The page in a real browser, as a user has it before him. A picture of each state is kept with the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.openapi import Served

from simulator.run.scenario import load

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.slow

Picture = Callable[[str], None]

ITEM = "CREATE TABLE test.item (id INT PRIMARY KEY, name VARCHAR(90));"


def run(tab: Tab, sql: str) -> None:
    """Type SQL and press Ctrl+Enter; return when it is answered."""
    before = tab.locator("#answers > li").count()
    tab.fill("#statements", sql)
    tab.press("#statements", "Control+Enter")
    tab.wait_for_selector(f"#answers > li:nth-child({before + 1})")
    tab.wait_for_selector("#editor .strong:enabled")


def cards(tab: Tab, kind: str, text: str = "") -> list[str]:
    """Return the texts of the messages of a kind that are in view, when there is one with a text."""
    tab.locator(f".card.{kind}", has_text=text).first.wait_for()
    return tab.locator(f".card.{kind} .text").all_inner_texts()


def test_an_insert_is_seen_in_its_lane_and_opened(tab: Tab, picture: Picture) -> None:
    """Its bytes as text and in hexadecimal digits, what they say, and why."""
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea'); SELECT * FROM test.item; SELECT 1 FROM nothing")

    assert cards(tab, "INSERT", "id=1") == ["test.item id=1 name=tea"]
    assert len(cards(tab, "DDL")) == 1, "Canal-JSON sends a statement to one partition"
    assert tab.locator(".result td").all_inner_texts() == ["1", "tea"]
    assert tab.inner_text("#answers .error") == "ERROR 1146 (42S02): Table 'test.nothing' doesn't exist"
    lane = tab.locator(".row:has(.card.INSERT) .cell").evaluate_all("cells => cells.findIndex(cell => cell.firstChild)")
    picture("an-insert")

    tab.click(".card.INSERT")
    tab.wait_for_selector("#message:visible")
    head, message = tab.inner_text("#message h2"), tab.inner_text("#message .parts")
    assert head.startswith(f"INSERT · ticdc/{lane}@")
    assert '"data":[{"id":"1","name":"tea"}]' in message
    assert "0000  7b 22 69 64 22 3a 30 2c" in message
    assert "destination  ticdc/" in message
    picture("its-bytes")


def test_broadcasts_transactions_and_splits_are_seen(served: Served, tab: Tab, picture: Picture) -> None:
    run(
        tab,
        "CREATE TABLE test.user (id INT PRIMARY KEY, mail VARCHAR(20) UNIQUE); INSERT INTO test.user VALUES (1, 'a');"
        "BEGIN; INSERT INTO test.user VALUES (2, 'b'), (3, 'c'); COMMIT; UPDATE test.user SET mail = 'd' WHERE id = 1;",
    )

    cards(tab, "INSERT", "mail=d")
    rows = tab.locator(".row.first").all()
    kinds = [row.locator(".card").count() for row in rows]
    assert kinds[0] >= 3, "a watermark is in all lanes"
    deleted = tab.locator(".row:has(.card.DELETE)")
    then = deleted.locator("xpath=following-sibling::*[1]")
    assert "first" not in (then.get_attribute("class") or ""), "the DELETE and the INSERT of a split are one commit"
    assert then.locator(".card.INSERT").count() == 1
    picture("a-split")


def test_two_protocols_are_compared(tab: Tab, picture: Picture) -> None:
    """What Canal-JSON does not say in each partition is marked."""
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea')")
    first = tab.locator(".feed[data-side='0']")
    first.get_by_role("button", name="New…").click()
    tab.select_option("#create [name=protocol]", "open-protocol")
    assert tab.input_value("#create [name=name]") == "open-protocol"
    tab.click("#create [value=create]")
    tab.locator("#lanes", has_text="open-protocol").wait_for()

    tab.click("#compare")

    tab.locator("#verdict", has_text="2 differences in what the messages say").wait_for()
    assert tab.locator("#lanes > div").count() == 7
    assert tab.locator(".card.differs").count() == 2
    assert {*tab.locator(".card.differs .kind").all_inner_texts()} == {"DDL"}
    picture("two-protocols")
    tab.locator(".card.differs").first.click()
    tab.locator("#message .parts", has_text="only in").wait_for()


def test_two_releases_are_compared(tab: Tab, picture: Picture) -> None:
    """The same SQL is replayed on a fresh TiDB, and what is run from then on is run on both."""
    run(tab, "CREATE TABLE test.u (id INT PRIMARY KEY, mail VARCHAR(9) UNIQUE); INSERT INTO test.u VALUES (1, 'a')")
    tab.click("#compare")
    tab.select_option(".feed[data-side='1'] [data-field=release]", "classic:v6.5.3")
    tab.locator("#verdict", has_text="1 difference in bytes").wait_for()
    tab.click(".card.differs")
    tab.locator("#message .parts", has_text=r"What differs").wait_for()
    assert r"\r\n" in tab.inner_text("#message .parts section:first-child"), (
        "TiCDC 6.5 ends each message with a line break"
    )
    tab.keyboard.press("Escape")

    run(tab, "UPDATE test.u SET mail = 'b'")

    assert len(cards(tab, "UPDATE", "mail: a→b")) == 1
    assert len(cards(tab, "DELETE")) == 1
    row = tab.locator(".row:has(.card.UPDATE)")
    assert row.locator(".card.DELETE").count() == 1, "both are at the same commit-ts"
    picture("two-releases")


def test_a_restart_is_injected_and_what_comes_again_is_marked(tab: Tab, picture: Picture) -> None:
    """The checkpoint stands still meanwhile, however long the clicks take."""
    run(tab, f"{ITEM} CALL ticdc.fault('checkpoint-lag', 'for=60s'); INSERT INTO test.item VALUES (1, 'tea')")
    cards(tab, "INSERT", "id=1")
    tab.wait_for_timeout(1500)
    tab.click("[data-dialog=faults]")
    tab.select_option("#faults [name=fault]", "restart")
    tab.locator("#faults .says", has_text="TiCDC ends and starts again").wait_for()
    tab.click("#faults [value=inject]")

    tab.locator(".card.again").first.wait_for()
    tab.locator(".row.break", has_text="Commit-ts go back").wait_for()
    assert "CALL ticdc.fault('restart')" in tab.inner_text("#answers")
    picture("a-restart")


def test_what_comes_again_stands_below_the_restart_in_every_lane(tab: Tab, picture: Picture) -> None:
    """The last watermark, too, in whichever lane it is seen first."""
    tab.wait_for_selector(".card.WATERMARK")
    tab.check("#watermarks")
    table = "test.stock"  # its rows go to partition 2, to which a broadcast comes last
    run(tab, f"CREATE TABLE {table} (id INT PRIMARY KEY); INSERT INTO {table} VALUES (1); CALL ticdc.fault('restart')")
    tab.locator(".row.break").wait_for()
    tab.locator(".card.INSERT.again").wait_for()
    picture("below-a-restart")

    tops = "cards => cards.map(card => card.closest('.row').offsetTop)"
    again = tab.locator(".card.WATERMARK.again").evaluate_all(tops)
    assert len(again) == 3
    assert min(again) > tab.locator(".row.break").evaluate("row => row.offsetTop")


def test_a_story_is_saved_and_loaded(tab: Tab, picture: Picture, tmp_path: Path) -> None:
    """On a fresh TiDB, where it can be run again; and `ticdc-sim run` plays the scenario."""
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea')")
    for kind in ("sql", "toml"):
        tab.click("[data-dialog=save]")
        picture("save") if kind == "sql" else None
        with tab.expect_download() as download:
            tab.click(f"#save [value={kind}]")
        assert download.value.suggested_filename == f"story.{kind}"
        download.value.save_as(tmp_path / f"story.{kind}")
    assert (tmp_path / "story.sql").read_text() == f"{ITEM}\nINSERT INTO test.item VALUES (1, 'tea');\n"
    assert len(load(tmp_path / "story.toml").steps) == 1

    tab.click("[data-dialog=open]")
    tab.set_input_files("#open [name=file]", tmp_path / "story.toml")
    tab.click("#open [value=open]")
    tab.locator("#open:not([open])").wait_for(state="attached")
    tab.locator(".feed[data-side='0'] select").first.locator("option:checked", has_text="fresh 1").wait_for(
        state="attached"
    )
    tab.press("#statements", "Control+Enter")
    assert cards(tab, "INSERT", "id=1") == ["test.item id=1 name=tea"]


def test_a_scenario_of_the_library_is_opened(tab: Tab, picture: Picture) -> None:
    tab.click("[data-dialog=open]")
    tab.select_option("#open [name=library]", "pk-update")
    tab.locator("#open .says", has_text="An order gets another number").wait_for()
    picture("the-library")
    tab.click("#open [value=open]")
    tab.locator("#lanes", has_text="keys/").wait_for()

    tab.press("#statements", "Control+Enter")

    cards(tab, "DELETE", "test.users")
    picture("a-scenario")


def test_a_row_cannot_bring_markup_into_the_page(tab: Tab) -> None:
    """It is text wherever it is shown: in the answer, in its lane, among its bytes, in an error, in a comparison."""
    markup = "<script>document.title=1</script><img src=x onerror=alert(1)>"
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, '{markup}'); SELECT * FROM test.item; SELECT `{markup[:40]}`")

    assert markup in tab.inner_text(".result")
    assert "<script>" in cards(tab, "INSERT", "id=1")[0]
    tab.click(".card.INSERT")
    tab.locator("#message .parts", has_text="onerror").wait_for()
    assert markup[:40] in tab.inner_text("#answers .error")
    assert tab.title() == "TiCDC simulator"
    assert tab.locator("main script, main img").count() == 0


def test_the_page_is_used_by_keyboard(tab: Tab) -> None:
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea'); INSERT INTO test.item VALUES (2, 'jam')")
    cards(tab, "INSERT", "id=2")
    tab.check("#watermarks")
    tab.focus("#grid")
    for _ in range(60):
        tab.keyboard.press("ArrowDown" if "INSERT" not in tab.locator(".card.chosen").all_inner_texts() else "Shift")
        chosen = tab.locator(".card.chosen")
        if chosen.count() and "INSERT" in (chosen.get_attribute("class") or ""):
            break
        if chosen.count() == 0 or tab.get_attribute("#grid", "aria-activedescendant") is None:
            tab.keyboard.press("Home")
    tab.keyboard.press("Enter")

    tab.wait_for_selector("#message:visible")
    assert tab.evaluate("document.activeElement.id") == "message"
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#message", state="hidden")
    assert tab.evaluate("document.activeElement.id") == "grid"


def test_what_is_missing_is_said(tab: Tab) -> None:
    """Statements behind an error, a second stream, and a changefeed."""
    run(tab, f"{ITEM} SELECT nothing; SELECT 1; SELECT 2")
    assert tab.inner_text("#answers > li:last-child .told") == "The script ends here: 2 statements after it not run."
    tab.fill("#statements", " -- nothing")
    tab.press("#statements", "Control+Enter")
    tab.locator("#problem", has_text="there is no statement to run").wait_for()
    tab.click("#compare")
    tab.locator("#verdict", has_text="One stream twice").wait_for()
    tab.click("#compare")

    tab.once("dialog", lambda dialog: dialog.dismiss())
    tab.click("[data-act=remove]")
    assert tab.locator(".feed[data-side='0'] [data-field=changefeed] option").count() == 1
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.click("[data-act=remove]")
    tab.locator("#empty", has_text="No changefeed: New… creates one.").wait_for()
    assert tab.locator("#lanes > div").count() == 0


def test_a_reload_keeps_the_session_and_a_duplicated_tab_is_another(tab: Tab) -> None:
    run(tab, f"{ITEM} BEGIN; INSERT INTO test.item VALUES (1, 'tea')")
    tab.fill("#statements", "SELECT * FROM test.item")
    with tab.expect_popup() as opened:
        tab.evaluate("window.open(location.href)")
    opened.value.wait_for_selector("#lanes b")  # its script has begun
    run(opened.value, "SELECT * FROM test.item")
    assert opened.value.inner_text("#answers .told") == "0 rows in set"
    opened.value.close()

    tab.reload()
    tab.wait_for_selector("#lanes b")
    assert tab.input_value("#statements") == "SELECT * FROM test.item"
    run(tab, tab.input_value("#statements"))
    assert tab.inner_text("#answers .told") == "1 row in set"


def test_a_page_whose_server_has_stopped_says_so(browser: Browser) -> None:
    served, tab = Served(), browser.new_page()
    tab.goto(f"{served.url}/")
    tab.wait_for_selector("#lanes b")

    served.close()

    tab.locator("#problem", has_text="the server does not answer: it has been stopped").wait_for()
    tab.close()


def test_every_control_has_a_name(tab: Tab) -> None:
    """As a screen reader says it."""
    controls = tab.locator("button, select, input, textarea").all()

    assert len(controls) > 30
    nameless = """control => !(control.getAttribute("aria-label") || control.textContent.trim()
        || [...control.labels ?? []].some(label => label.textContent.trim()))"""
    assert [control.evaluate("c => c.outerHTML") for control in controls if control.evaluate(nameless)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_shows_one_side_in_either_light(tab: Tab, picture: Picture, scheme: str) -> None:
    """At 400 pixels nothing is wider than the page."""
    tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea')")
    cards(tab, "INSERT", "id=1")
    picture(f"wide-{scheme}")
    tab.set_viewport_size({"width": 400, "height": 800})
    picture(f"sql-{scheme}")
    assert not tab.is_visible("#grid")
    tab.get_by_role("button", name="Streams").click()
    cards(tab, "INSERT", "id=1")
    picture(f"streams-{scheme}")
    tab.click(".card.INSERT")
    tab.wait_for_selector("#message:visible")
    picture(f"message-{scheme}")

    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", paper))) < 60) == (scheme == "dark")


def test_the_theme_is_switched_and_kept(tab: Tab) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(paper)
    tab.click("#theme")
    switched = tab.evaluate(paper)
    tab.reload()

    assert tab.evaluate(paper) == switched != before


def test_only_lines_in_view_are_elements(tab: Tab) -> None:
    """5,000 rows, of which a scroll to any place shows those that are there."""
    run(tab, ITEM)
    for part in range(5):
        run(tab, f"INSERT INTO test.item VALUES {', '.join(f'({part * 1000 + row}, NULL)' for row in range(1000))}")
    cards(tab, "INSERT", "id=4999")

    assert int(tab.get_attribute("#grid", "aria-rowcount") or 0) > 5000
    assert tab.locator(".row").count() < 100
    tab.uncheck("#follow")
    tab.evaluate("grid.scrollTop = grid.scrollHeight / 2")
    tab.wait_for_timeout(200)
    texts = tab.locator(".card.INSERT .text").all_inner_texts()
    assert any(2000 < int(re.findall(r"id=(\d+)", text)[0]) < 3000 for text in texts)


def test_a_line_stays_the_element_that_it_is_while_others_come(tab: Tab) -> None:
    """A click that begins on a message ends on it."""
    run(tab, f"{ITEM} INSERT INTO test.item VALUES (1, 'tea')")
    card = tab.locator(".card.INSERT", has_text="id=1").element_handle()
    assert card is not None
    run(tab, "INSERT INTO test.item VALUES (2, 'jam')")
    cards(tab, "INSERT", "id=2")
    tab.wait_for_timeout(1200)

    assert card.evaluate("card => card.isConnected")
