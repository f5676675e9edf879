// The page of a served TiDB: SQL at the left, streams at the right. All data becomes text nodes, never markup.
"use strict";

const ROW = 26, AHEAD = 12, MOST = 20000;
const $ = (id) => document.getElementById(id);

// -- elements and requests ---------------------------------------------------------------------------------------------

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null && child !== ""));
  return made;
}

async function request(method, path, body) {
  const init = { method, headers: body === undefined ? {} : { "content-type": "application/json" } };
  if (body !== undefined) init.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, init);
  } catch {
    throw new Error("the server does not answer: it has been stopped");
  }
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.error || document.error_msg || answer.statusText);
  return document;
}

function complain(error) {
  const text = error ? error.message : "";
  if ($("problem").textContent !== text) $("problem").textContent = text; // an alert is read out when it is set
}

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// -- state -------------------------------------------------------------------------------------------------------------

// A reload keeps them. A duplicated tab has a copy of what is stored, and is a session of its own.
const isReload = performance.getEntriesByType("navigation")[0]?.type === "reload";
const kept = (isReload && JSON.parse(sessionStorage.getItem("page"))) || {};
const session = kept.session ?? crypto.getRandomValues(new Uint8Array(16)).join("-");
window.addEventListener("pagehide", () => {
  const [{ tidb, changefeed }] = sides;
  sessionStorage.setItem("page", JSON.stringify({ session, sql: $("statements").value, tidb, changefeed }));
});

// What /ui/state tells, TiDBs with their changefeeds; and what /ui/lists does, which comes later.
let state = { tidbs: [], releases: [], faults: [], library: [] };
const sides = [
  { tidb: kept.tidb ?? 0, changefeed: kept.changefeed ?? "", messages: [], lanes: [], next: 0 },
  { tidb: 0, changefeed: "", messages: [], lanes: [], next: 0 },
];
let comparing = false;
let run = ""; // which start of the server the messages are of

const tidbOf = (side) => state.tidbs.find((tidb) => tidb.id === side.tidb);
const feedOf = (side) => tidbOf(side)?.changefeeds.find((feed) => feed.name === side.changefeed);
const shown = () => sides.slice(0, comparing ? 2 : 1);
const query = (side) => `tidb=${side.tidb}&changefeed=${encodeURIComponent(side.changefeed)}`;

async function refresh() {
  Object.assign(state, await request("GET", "/ui/state"));
  let moved = false;
  for (const side of sides) {
    const id = tidbOf(side)?.id ?? 0;
    const name = feedOf(side)?.name ?? state.tidbs.find((tidb) => tidb.id === id).changefeeds[0]?.name ?? "";
    if (id === side.tidb && name === side.changefeed) continue;
    watch(side, id, name);
    moved = true;
  }
  const first = state.tidbs[0];
  $("served").textContent = `TiDB ${first.release}, ${first.architecture}; MySQL clients: ${first.address}`;
  sides.forEach(showFeed);
  if (moved) listen();
}

async function lists() {
  Object.assign(state, await request("GET", "/ui/lists"));
  sides.forEach(showFeed);
}

function showFeed(side, number) {
  const box = document.querySelector(`.feed[data-side="${number}"]`);
  box.hidden = number === 1 && !comparing;
  const [release, changefeed] = box.querySelectorAll("select");
  const tidb = tidbOf(side), feed = feedOf(side);
  const running = state.tidbs.map((each) => option(`tidb:${each.id}`, each.title, each.id === side.tidb));
  const others = state.releases.map(([architecture, tags]) =>
    el("optgroup", { label: `the same SQL on a fresh ${architecture} …` }, ...tags.map((tag) => option(`${architecture}:${tag}`, tag))));
  release.replaceChildren(el("optgroup", { label: "running" }, ...running), ...others);
  changefeed.replaceChildren(...tidb.changefeeds.map((each) => option(each.name, `${each.name}: ${each.protocol}`, each.name === side.changefeed)));
  const status = box.querySelector(".state"), paused = feed?.state === "stopped";
  status.dataset.state = feed?.state ?? "";
  status.textContent = !feed ? "no changefeed" : feed.error ? `${feed.state}: ${feed.error}` : feed.state === "normal" ? "" : feed.state;
  box.querySelector('[data-act="pause"]').textContent = paused || feed?.state === "failed" ? "Resume" : "Pause";
  for (const act of ["pause", "remove"]) box.querySelector(`[data-act="${act}"]`).disabled = !feed;
}

const option = (value, text, selected = false) => el("option", { value, selected }, text);

function watch(side, tidb, changefeed) {
  Object.assign(side, { tidb, changefeed, messages: [], lanes: [], next: 0 });
}

// -- the stream of messages ------------------------------------------------------------------------------------------------

let source = null, retry = 0, isGone = false;

function listen() {
  source?.close();
  clearTimeout(retry);
  layout.clear();
  for (const side of sides) watch(side, side.tidb, side.changefeed);
  draw.soon(true);
  connect();
}

function connect() {
  const watched = shown().filter((side) => side.changefeed);
  const streams = watched.map((side) => `stream=${side.tidb}/${encodeURIComponent(side.changefeed)}/${side.next}`);
  source = new EventSource(`/ui/events?session=${session}&${streams.join("&")}`);
  source.addEventListener("hello", (event) => {
    if (run && run !== event.data) location.reload();
    run = event.data;
    if (isGone) complain(null);
    isGone = false;
    if (!state.releases.length) handled(lists);
  });
  source.addEventListener("messages", (event) => {
    const { stream, messages } = JSON.parse(event.data);
    receive(watched[stream], sides.indexOf(watched[stream]), messages);
  });
  source.addEventListener("changed", () => refresh().catch(complain));
  source.onerror = () => {
    source.close();
    retry = setTimeout(connect, 1000);
    refresh().catch((error) => {
      isGone = true;
      complain(error);
    });
  };
}

function receive(side, number, messages) {
  for (const message of messages) {
    message.isNew = messages.length < 20;
    message.side = number;
    message.key = message.ts.padStart(20, "0");
    side.next = message.n + 1;
    side.messages.push(message);
    layout.add(message);
  }
  if (sides.some((each) => each.messages.length > MOST)) forget();
  draw.soon(true);
  if (comparing && messages.some((message) => message.k !== "WATERMARK")) compare.soon();
}

function forget() {
  for (const side of sides) side.messages.splice(0, side.messages.length - MOST / 2);
  layout.clear();
  const all = sides.flatMap((side) => side.messages).sort((a, b) => a.at - b.at);
  all.forEach((message) => layout.add(message));
}

// -- layout: a row for each commit-ts, a lane for each partition -------------------------------------------------------------
// When commit-ts of a lane go back, or its last watermark comes again, as after a restart, the stream goes on in a new
// segment below.

const layout = {
  segments: [], lanes: [], lines: [], seen: new Map(), arrivals: 0,

  clear() {
    Object.assign(this, { segments: [], lanes: [], lines: [], arrivals: 0 });
    this.seen.clear();
    selection.card = null;
    drawn.forEach((line) => line.remove());
    drawn.clear();
  },

  lane(message) {
    const found = this.lanes.find((lane) => lane.side === message.side && lane.topic === message.t && lane.partition === message.p);
    if (found) return found;
    const lane = { side: message.side, topic: message.t, partition: message.p, segment: 0, last: "", count: 0 };
    this.lanes.push(lane);
    this.lanes.sort((a, b) => a.side - b.side || (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition));
    this.lanes.forEach((each, index) => (each.index = index));
    return lane;
  },

  add(message) {
    message.at ??= this.arrivals++;
    const lane = (message.lane = this.lane(message)), { key } = message;
    lane.count++;
    const identity = `${message.side} ${message.t} ${message.p} ${key} ${message.d}`;
    message.again = this.seen.get(identity);
    if (message.again === undefined) this.seen.set(identity, message);
    const goesOn = lane.segment < this.segments.length - 1;
    const isRepeated = message.again?.segment === lane.segment && (goesOn || message.k === "WATERMARK");
    if (key < lane.last || isRepeated) lane.segment++;
    else if (key > (this.segments[lane.segment]?.most ?? "") && goesOn) lane.segment = this.segments.length - 1;
    const segment = (this.segments[lane.segment] ??= { rows: [], byKey: new Map(), most: "" });
    lane.last = key;
    message.segment = lane.segment;
    let row = segment.byKey.get(key);
    if (!row) {
      row = { key, ts: message.ts, cells: new Map(), height: 1, plain: true };
      segment.byKey.set(key, row);
      if (key > segment.most) segment.most = key;
      let place = segment.rows.length;
      while (place && segment.rows[place - 1].key > key) place--;
      segment.rows.splice(place, 0, row);
    }
    const cell = row.cells.get(lane) ?? [];
    cell.push(message);
    row.cells.set(lane, cell);
    row.height = Math.max(row.height, cell.length);
    row.plain &&= message.k === "WATERMARK";
    message.row = row;
  },

  arrange(everyWatermark) {
    const lines = (this.lines = []);
    this.segments.forEach((segment, number) => {
      if (number) lines.push({ text: "Commit-ts go back: what follows was sent again, or late" });
      if (!everyWatermark) skipWatermarks(segment.rows);
      let before = 0;
      for (const row of segment.rows) {
        row.line = lines.length;
        if (!everyWatermark && row.hidden) {
          before++;
          continue;
        }
        row.skipped = before;
        before = 0;
        for (let at = 0; at < row.height; at++) lines.push({ row, at });
      }
    });
  },
};

// Of watermarks that follow each other only the last of each lane is shown.
function skipWatermarks(rows) {
  const lanes = new Set();
  for (const row of [...rows].reverse()) {
    if (!row.plain) lanes.clear();
    const known = lanes.size;
    for (const lane of row.cells.keys()) lanes.add(lane);
    row.hidden = row.plain && lanes.size === known;
  }
}

// -- drawing: only the lines in view are elements --------------------------------------------------------------------------

const drawn = new Map();

const draw = {
  planned: false, changed: true,

  soon(changed = false) {
    this.changed ||= changed;
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.now();
    });
  },

  now() {
    const grid = $("grid"), lines = $("lines");
    if (this.changed) {
      this.changed = false;
      layout.arrange($("watermarks").checked);
      this.heads();
      lines.style.height = `${layout.lines.length * ROW}px`;
      $("empty").hidden = layout.segments.some((segment) => segment.rows.some((each) => !each.plain));
      $("empty").textContent = !feedOf(sides[0]) ? "No changefeed: New… creates one."
        : feedOf(sides[0]).writes_files ? "This changefeed writes files." : "No message of a row or a statement yet: run some SQL.";
      grid.setAttribute("aria-rowcount", layout.lines.length);
      if ($("follow").checked && !selection.card) grid.scrollTop = grid.scrollHeight;
    }
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - AHEAD);
    const last = Math.min(layout.lines.length, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW) + AHEAD);
    for (const [number, line] of drawn) {
      if (number < first || number >= last) line.remove(), drawn.delete(number);
    }
    const fresh = document.createDocumentFragment();
    for (let number = first; number < last; number++) {
      const shows = whatItShows(layout.lines[number]), before = drawn.get(number);
      if (before?.shows === shows) continue;
      const line = lineElement(layout.lines[number], number);
      line.shows = shows;
      drawn.set(number, line);
      before?.remove();
      fresh.append(line);
    }
    lines.append(fresh);
  },

  heads() {
    const heads = layout.lanes.map((lane, index) => {
      const name = lane.side ? "B" : comparing ? "A" : "";
      const starts = index && layout.lanes[index - 1].side !== lane.side;
      return el("div", { role: "columnheader", class: starts ? "second" : "", title: `${lane.topic}, partition ${lane.partition}: ${counted(lane.count, "message")}` },
        el("span", { class: "topic" }, name && `${name} · `, lane.topic), "/", el("b", {}, String(lane.partition)), layout.lanes.length > 4 ? "" : ` · ${lane.count.toLocaleString("en")}`);
    });
    $("lanes").replaceChildren(...(heads.length ? [el("div", { role: "columnheader" }, "commit-ts"), ...heads] : []));
    $("grid").style.setProperty("--count", Math.max(1, layout.lanes.length));
  },
};

// A line is drawn anew only where this has changed, so that a click finds the element on which it began.
function whatItShows({ row, at, text }) {
  if (!row) return text;
  const cells = layout.lanes.map((lane) => row.cells.get(lane)?.[at]).map((message) => message && `${message.side}/${message.n}/${message.differs}`);
  return `${row.key}/${row.skipped}/${at}/${cells.join()}`;
}

const NAMES = { INSERT: "INS", UPDATE: "UPD", DELETE: "DEL", DDL: "DDL", WATERMARK: "◇", BOOTSTRAP: "SCHEMA", UNREADABLE: "?", BATCH: "ROWS" };

function lineElement(line, number) {
  const made = el("div", { role: "row", "aria-rowindex": number + 1, class: "row" });
  made.style.top = `${number * ROW}px`;
  if (!line.row) {
    made.classList.add("break");
    made.append(el("span", { role: "gridcell" }, `↺ ${line.text}`));
    return made;
  }
  const { row, at } = line;
  if (!at) made.classList.add("first");
  const everywhere = [...row.cells.values()].every((cell) => cell[0].k === "DDL");
  if (everywhere) made.classList.add("band");
  const label = at ? "" : row.skipped ? `${timeOf(row.ts)} +${row.skipped}` : timeOf(row.ts);
  made.append(el("div", { role: "rowheader", class: "time", title: title(row) }, label));
  layout.lanes.forEach((lane, index) => {
    const message = row.cells.get(lane)?.[at];
    const second = index && layout.lanes[index - 1].side !== lane.side;
    made.append(el("div", { class: second ? "cell second" : "cell" }, message ? cardElement(message) : ""));
  });
  return made;
}

function title(row) {
  const skipped = row.skipped ? `; ${counted(row.skipped, "row")} of watermarks before it` : "";
  return `commit-ts ${row.ts}, ${dateOf(row.ts)}${skipped}`;
}

function cardElement(message) {
  const notes = [message.events > 1 ? `×${message.events}` : "", message.again ? "again" : "", message.differs !== undefined ? "≠" : ""].filter(Boolean);
  const card = el("div", { role: "gridcell", class: `card ${message.k}`, id: cardId(message), title: message.text, "aria-selected": selection.card === message,
      "aria-label": `${message.k} ${message.text} ${notes.join(" ")}, ${message.t} partition ${message.p}` },
    el("span", { class: "kind" }, NAMES[message.k] ?? message.k),
    ...notes.map((note) => el("span", { class: "note" }, note)),
    el("span", { class: "text" }, message.text));
  if (message.again) card.classList.add("again");
  if (message.differs !== undefined) card.classList.add("differs");
  if (selection.card === message) card.classList.add("chosen");
  if (message.isNew) card.classList.add("new"), (message.isNew = false);
  card.addEventListener("click", () => choose(message, true));
  return card;
}

const cardId = (message) => `message-${message.side}-${message.n}`;
const milliseconds = (ts) => Number(BigInt(ts) >> 18n);

function timeOf(ts) {
  return new Date(milliseconds(ts)).toISOString().slice(11, 23);
}

function dateOf(ts) {
  return new Date(milliseconds(ts)).toISOString().replace("T", " ").replace("Z", " UTC");
}

// -- the selection, by keyboard and mouse ------------------------------------------------------------------------------------

const selection = { card: null };

function choose(message, open = false) {
  const before = selection.card;
  selection.card = message;
  for (const each of [before, message]) {
    const card = each && $(cardId(each));
    card?.classList.toggle("chosen", each === message);
    card?.setAttribute("aria-selected", each === message);
  }
  if (message) $("grid").setAttribute("aria-activedescendant", cardId(message));
  else $("grid").removeAttribute("aria-activedescendant");
  if (open && message) openMessage(message).catch(complain);
}

function bring(message) {
  const grid = $("grid"), line = message.row.line + message.row.cells.get(message.lane).indexOf(message);
  const top = line * ROW, head = $("lanes").offsetHeight;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top + ROW + head > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + ROW + head - grid.clientHeight + 4;
  draw.now();
}

function messagesOf(lane) {
  return layout.lines.flatMap(({ row, at }) => row?.cells.get(lane)?.[at] ?? []);
}

function move(key) {
  const current = selection.card;
  let target;
  if (!current?.row || key === "Home" || key === "End") {
    const lane = current?.lane ?? layout.lanes[0];
    if (lane) target = messagesOf(lane).at(key === "Home" ? 0 : -1);
  } else if (key === "ArrowUp" || key === "ArrowDown") {
    const inside = messagesOf(current.lane);
    target = inside[inside.indexOf(current) + (key === "ArrowDown" ? 1 : -1)];
  } else {
    const lane = layout.lanes[current.lane.index + (key === "ArrowRight" ? 1 : -1)];
    const inside = lane ? messagesOf(lane) : [];
    target = inside.find((message) => message.row.line >= current.row.line) ?? inside.at(-1);
  }
  if (target) {
    choose(target, !$("message").hidden);
    bring(target);
  }
}

$("grid").addEventListener("scroll", () => draw.soon(), { passive: true });
$("grid").addEventListener("keydown", (event) => {
  if (["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) move(event.key);
  else if (event.key === "Enter" && selection.card) openMessage(selection.card, true).catch(complain);
  else return;
  event.preventDefault();
});
new ResizeObserver(() => draw.soon()).observe($("grid"));

// -- one message: bytes, decoded, reasons --------------------------------------------------------------------------------

async function openMessage(message, focus = false) {
  const side = sides[message.side], panel = $("message");
  const told = await request("GET", `/ui/message?${query(side)}&number=${message.n}`);
  if (selection.card !== message) return;
  panel.querySelector("h2").textContent = `${message.k} · ${message.t}/${message.p}@${message.o} · commit-ts ${message.ts} · ${dateOf(message.ts)}`;
  const parts = [];
  if (message.differs) parts.push(part("What differs", el("pre", { class: "text" }, message.differs)));
  told.events.forEach((event) => parts.push(part("Decoded", decoded(event))));
  if (told.unreadable) parts.push(part("Decoded", el("pre", { class: "text" }, told.unreadable)));
  if (message.again) parts.push(part("Why", el("pre", {}, `again        the same bytes as at offset ${message.again.o}: TiCDC sends at least once, and begins again at\n             its checkpoint after a restart`)));
  told.why.forEach((lines) => parts.push(part("Why", el("pre", { class: "why" }, lines.join("\n")))));
  for (const [name, data] of [["Key", told.key], ["Value", told.value]]) {
    const size = data ? counted(data.size, "byte") : "null";
    parts.push(part(`${name}: ${size}`, ...(data ? [el("pre", { class: "text" }, data.text), el("pre", { class: "hex" }, dump(data.hex))] : [])));
  }
  panel.querySelector(".parts").replaceChildren(...parts);
  panel.hidden = false;
  draw.now();
  bring(message);
  if (focus) panel.focus();
}

function part(heading, ...content) {
  const size = { Decoded: "small", Why: "large" }[heading];
  return el("section", { class: size ?? "" }, el("h3", {}, heading), ...content);
}

function decoded(event) {
  if (event.before === undefined) {
    const facts = Object.entries(event).filter(([, value]) => value !== null && value !== "");
    return el("div", { class: "scroll" }, el("table", {}, ...facts.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, String(value))))));
  }
  const names = [...new Set([...Object.keys(event.after ?? {}), ...Object.keys(event.before ?? {})])];
  const cell = (image, name) => {
    if (!image || !(name in image)) return el("td", { class: "null" }, image ? "not sent" : "");
    const value = image[name];
    return value === null ? el("td", { class: "null" }, "NULL") : el("td", {}, typeof value === "object" ? `0x${value.hex}` : String(value));
  };
  const rows = names.map((name) => {
    const changed = event.before && event.after && name in event.before && name in event.after && JSON.stringify(event.before[name]) !== JSON.stringify(event.after[name]);
    const cells = [cell(event.before, name), cell(event.after, name)];
    if (changed) cells[1].className = "changed";
    return el("tr", {}, el("th", {}, name), ...cells);
  });
  const head = el("tr", {}, el("th", {}, `${event.event} ${event.schema}.${event.table}`), el("th", {}, "before"), el("th", {}, "after"));
  return el("div", { class: "scroll" }, el("table", {}, head, ...rows));
}

function dump(hex) {
  const lines = [];
  for (let at = 0; at < hex.length && at < 65536; at += 32) {
    const pairs = hex.slice(at, at + 32).match(/../g);
    const text = pairs.map((pair) => parseInt(pair, 16)).map((code) => (code > 31 && code < 127 ? String.fromCharCode(code) : "·")).join("");
    lines.push(`${(at / 2).toString(16).padStart(4, "0")}  ${pairs.slice(0, 8).join(" ").padEnd(23)}  ${pairs.slice(8).join(" ").padEnd(23)}  ${text}`);
  }
  if (hex.length > 65536) lines.push(`… ${counted(hex.length / 2 - 32768, "byte")} more`);
  return lines.join("\n");
}

function shut() {
  $("message").hidden = true;
  choose(null);
  $("grid").focus();
  draw.soon();
}

$("shut").addEventListener("click", shut);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("message").hidden && !document.querySelector("dialog[open]")) shut();
});

// -- SQL -----------------------------------------------------------------------------------------------------------------

async function runSql(text) {
  complain(null);
  const tidbs = [...new Set(shown().map((side) => side.tidb))];
  const button = $("editor").querySelector(".strong");
  button.disabled = true;
  try {
    const { answers, left } = await request("POST", "/ui/sql", { session, sql: text, tidbs });
    if (!answers.length) throw new Error("there is no statement to run");
    answers.forEach(showAnswer);
    if (left) $("answers").lastChild.append(el("div", { class: "told" }, `The script ends here: ${counted(left, "statement")} after it not run.`));
    $("answers").scrollTop = $("answers").scrollHeight;
    return !answers.some((answer) => answer.error && !answer.expected);
  } catch (error) {
    complain(error);
    return false;
  } finally {
    button.disabled = false;
  }
}

function showAnswer(answer) {
  const entry = el("li", {}, el("pre", {}, answer.sql));
  if (answer.error) entry.append(errorElement("error", "", answer.error));
  else if (answer.columns) {
    const head = el("tr", {}, ...answer.columns.map((name) => el("th", { scope: "col" }, name)));
    const rows = answer.rows.map((row) => el("tr", {}, ...row.map((cell) => (cell === null ? el("td", { class: "null" }, "NULL") : el("td", {}, cell)))));
    entry.append(el("div", { class: "result", tabindex: "0", role: "group", "aria-label": "Result" }, el("table", {}, head, ...rows)));
  }
  if (!answer.error) entry.append(el("div", { class: "told" }, answer.told));
  for (const warning of answer.warnings) entry.append(el("div", { class: "told" }, `Warning ${warning}`));
  for (const other of answer.elsewhere) {
    entry.append(other.error ? errorElement("elsewhere", `${other.tidb}: `, other.error) : el("div", { class: "elsewhere" }, `${other.tidb}: ${other.told}`));
  }
  const log = $("answers");
  log.append(entry);
  while (log.children.length > 300) log.firstChild.remove();
}

function errorElement(kind, before, error) {
  return el("div", { class: kind, role: "alert" }, before, el("b", {}, `ERROR ${error.number} (${error.state})`), `: ${error.text}`);
}

$("editor").addEventListener("submit", (event) => {
  event.preventDefault();
  const area = $("statements"), { selectionStart: start, selectionEnd: end } = area;
  runSql(start < end ? area.value.slice(start, end) : area.value);
});
$("statements").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    $("editor").requestSubmit();
  }
});
$("clear").addEventListener("click", () => {
  $("answers").replaceChildren();
  complain(null);
});

// -- changefeeds and releases ----------------------------------------------------------------------------------------------

for (const box of document.querySelectorAll(".feed")) {
  const number = Number(box.dataset.side), side = sides[number];
  box.querySelector('[data-field="release"]').addEventListener("change", (event) => handled(async () => {
    const [kind, tag] = event.target.value.split(":");
    const { id } = kind === "tidb" ? { id: Number(tag) } : await request("POST", "/ui/tidbs", { architecture: kind, release: tag, like: side.tidb, changefeed: side.changefeed });
    await show(number, id, side.changefeed);
  }));
  box.querySelector('[data-field="changefeed"]').addEventListener("change", (event) => handled(() => show(number, side.tidb, event.target.value)));
  box.querySelector('[data-act="create"]').addEventListener("click", () => openCreate(number));
  box.querySelector('[data-act="pause"]').addEventListener("click", () => handled(async () => {
    const act = ["stopped", "failed"].includes(feedOf(side).state) ? "resume" : "pause";
    await request("POST", `/ui/changefeed/${act}?${query(side)}`);
    await refresh();
  }));
  box.querySelector('[data-act="remove"]').addEventListener("click", () => handled(async () => {
    if (!confirm(`Remove the changefeed ${side.changefeed}, and its stream from this page?`)) return;
    await request("POST", `/ui/changefeed/remove?${query(side)}`);
    await refresh();
  }));
}

async function handled(work) {
  complain(null);
  try {
    await work();
  } catch (error) {
    complain(error);
    await refresh().catch(() => {});
  }
}

async function show(number, tidb, changefeed) {
  watch(sides[number], tidb, changefeed);
  await refresh();
  listen();
}

async function openCreate(number) {
  const side = sides[number], form = $("create").querySelector("form"), names = tidbOf(side).changefeeds.map((feed) => feed.name);
  form.protocol.replaceChildren(...tidbOf(side).protocols.map((name) => option(name, name, name === feedOf(side)?.protocol)));
  let suggested = (form.elements.name.value = "");
  const suggest = () => {
    if (form.elements.name.value !== suggested) return;
    suggested = form.protocol.value;
    for (let count = 2; names.includes(suggested); count++) suggested = `${form.protocol.value}-${count}`;
    form.elements.name.value = suggested;
  };
  form.protocol.onchange = suggest;
  suggest();
  form.partitions.value = feedOf(side)?.partitions ?? 3;
  dialog("create", async () => {
    const fields = { name: form.elements.name.value, protocol: form.protocol.value, partitions: Number(form.partitions.value), options: form.options.value, config: form.config.value, history: form.history.checked };
    const { name, warnings } = await request("POST", "/ui/changefeed/create", { tidb: side.tidb, ...fields });
    await show(number, side.tidb, name);
    if (warnings.length) complain(new Error(warnings.join("\n")));
  });
}

function setComparing(value) {
  comparing = value;
  $("compare").setAttribute("aria-pressed", value);
  $("verdict").textContent = "";
}

$("compare").addEventListener("click", () => handled(async () => {
  setComparing(!comparing);
  if (comparing && sides[1].tidb === sides[0].tidb && sides[1].changefeed === sides[0].changefeed) {
    const other = tidbOf(sides[0]).changefeeds.find((feed) => feed.name !== sides[0].changefeed);
    watch(sides[1], sides[0].tidb, other?.name ?? sides[0].changefeed);
  }
  sides.forEach(showFeed);
  listen();
}));

const compare = {
  planned: 0,

  soon() {
    clearTimeout(this.planned);
    this.planned = setTimeout(() => this.now().catch(complain), 250);
  },

  async now() {
    if (!comparing) return;
    const [a, b] = sides, verdict = $("verdict");
    if (a.tidb === b.tidb && a.changefeed === b.changefeed) {
      verdict.className = "";
      verdict.textContent = "One stream twice: choose another release or changefeed for the second, or create one with New…";
      return;
    }
    const told = await request("GET", `/ui/compare?a=${a.tidb}/${encodeURIComponent(a.changefeed)}&b=${b.tidb}/${encodeURIComponent(b.changefeed)}`);
    for (const side of sides) side.messages.forEach((message) => delete message.differs);
    for (const { a: one, b: other, what } of told.differences) {
      [one, other].forEach((number, index) => {
        const message = number !== null && sides[index].messages.find((each) => each.n === number);
        if (message) message.differs = what || `only in ${index ? "B" : "A"}`;
      });
    }
    verdict.className = told.count ? "differ" : "";
    verdict.textContent = told.count ? `${counted(told.count, "difference")} ${told.what}` : `${counted(told.events, "event")} alike ${told.what}`;
    draw.soon(true);
  },
};

// -- dialogs -----------------------------------------------------------------------------------------------------------------

function dialog(name, work) {
  const box = $(name), form = box.querySelector("form"), problem = box.querySelector(".problem");
  problem.textContent = "";
  form.onsubmit = async (event) => {
    if (!event.submitter?.value) return;
    event.preventDefault();
    event.submitter.disabled = true;
    complain(null);
    try {
      await work(event.submitter.value);
      box.close();
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      event.submitter.disabled = false;
    }
  };
  box.showModal();
}

const OPENERS = {
  faults() {
    const form = $("faults").querySelector("form"), says = form.querySelector(".says"), keys = form.querySelector(".keys");
    const groups = [[true, "what TiCDC does"], [false, "what a consumer should notice"]].map(([legal, label]) =>
      el("optgroup", { label }, ...state.faults.filter((fault) => fault.legal === legal).map((fault) => option(fault.name, fault.name))));
    const extra = [option("wait", "wait: time passes"), option("watermark", "watermark: send one now")];
    const feeds = tidbOf(sides[0]).changefeeds;
    form.changefeed.replaceChildren(option("", "all that can have it"), ...feeds.map(({ name }) => option(name, name)));
    form.fault.replaceChildren(...groups, el("optgroup", { label: "no fault" }, ...extra));
    const describe = () => {
      const fault = state.faults.find((each) => each.name === form.fault.value);
      says.textContent = fault?.says ?? "";
      const fields = fault?.keys ?? (form.fault.value === "wait" ? [{ name: "duration", says: "How long.", needed: true, example: "10s" }] : []);
      keys.replaceChildren(...fields.map((key) => el("label", {}, `${key.name}${key.needed ? " (needed)" : ""}: ${key.says}`,
        el("input", { name: `key-${key.name}`, required: key.needed, placeholder: key.example && `such as ${key.example}`, autocomplete: "off" }))));
    };
    form.fault.onchange = describe;
    describe();
    dialog("faults", async () => {
      const text = (value) => (value.includes("'") ? `"${value.replaceAll('"', "'")}"` : `'${value}'`);
      const pairs = [...keys.querySelectorAll("input")].filter((input) => input.value).map((input) => `${input.name.slice(4)}=${input.value}`);
      if (form.changefeed.value) pairs.push(`changefeed=${form.changefeed.value}`);
      const fault = form.fault.value;
      const call = fault === "wait" ? ["wait", pairs[0].slice("duration=".length)] : fault === "watermark" ? ["watermark"] : ["fault", fault, ...pairs];
      await runSql(`CALL ticdc.${call[0]}(${call.slice(1).map(text).join(", ")});`);
    });
  },

  open() {
    const form = $("open").querySelector("form"), says = form.querySelector(".says");
    form.library.replaceChildren(option("", "choose …"), ...state.library.map(({ name, title }) => option(name, `${name}: ${title}`)));
    const describe = () => (says.textContent = state.library.find((each) => each.name === form.library.value)?.story ?? "");
    form.library.onchange = describe;
    form.reset();
    describe();
    dialog("open", async () => {
      const file = form.file.files[0];
      if (!file && !form.library.value) throw new Error("choose one of the library, or a file");
      const body = file ? { name: file.name, text: await file.text() } : { library: form.library.value };
      const opened = await request("POST", "/ui/open", { ...body, fresh: form.fresh.checked });
      $("statements").value = opened.sql;
      if (opened.tidb !== null) {
        setComparing(false);
        await show(0, opened.tidb, opened.changefeed);
      }
    });
  },

  save() {
    const form = $("save").querySelector("form");
    dialog("save", async (format) => {
      const name = form.elements.name.value;
      const { files } = await request("GET", `/ui/save?format=${format}&name=${encodeURIComponent(name)}&${query(sides[0])}`);
      for (const [suffix, text] of files) {
        const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        el("a", { href: url, download: `${name}${suffix}` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 10000);
      }
    });
  },
};

for (const button of document.querySelectorAll("[data-dialog]")) button.addEventListener("click", () => OPENERS[button.dataset.dialog]());

// -- how it looks ------------------------------------------------------------------------------------------------------------

function theme(name) {
  const dark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (name) document.documentElement.dataset.theme = name;
  $("theme").textContent = dark ? "Light" : "Dark";
  $("theme").dataset.next = dark ? "light" : "dark";
}

$("theme").addEventListener("click", () => {
  const { next } = $("theme").dataset;
  localStorage.setItem("theme", next);
  theme(next);
});
theme(localStorage.getItem("theme"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(localStorage.getItem("theme")));

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    document.body.dataset.view = button.dataset.show;
    for (const each of document.querySelectorAll("[data-show]")) each.setAttribute("aria-pressed", each === button);
    draw.soon();
  });
}
$("watermarks").addEventListener("change", () => draw.soon(true));
$("follow").addEventListener("change", () => draw.soon(true));

if (kept.sql !== undefined) $("statements").value = kept.sql;
handled(async () => {
  await refresh();
  if (!source) listen();
});
