"use strict";
// Text of transcripts only ever enters the page through textContent and canvas; Plotly gets policy labels and numbers.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const el = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const compact = (n) => n >= 1e6 ? (n / 1e6).toFixed(2) + "M" : n >= 1e4 ? (n / 1e3).toFixed(1) + "K" : Math.round(n).toLocaleString("en");
// Plotly reads a little markup in names; labels are anybody's.
const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
for (const transcript of data.transcripts) for (const [policy, edits] of Object.entries(transcript.edits)) {
  transcript.edits[policy] = edits.map(([call, moment, item, action, before, after, reason, sources, text]) => (
    { call, moment: data.strings[moment], item, action: data.strings[action], before, after, reason: data.strings[reason], sources: data.strings[sources], text: data.strings[text] }));
}
const state = { transcript: 0, policy: 0, axis: "tokens", sort: null, descending: false, cell: null, shown: new Set(data.policies.keys()) };
const narrow = () => window.innerWidth < 700;

// pictures

function layout(extra) {
  const line = css("--line"), text = css("--text");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: text, family: "system-ui, sans-serif", size: 13 },
    margin: { l: 60, r: 16, t: 12, b: 48 }, hovermode: "closest", hoverlabel: { align: "left", namelength: -1 },
    legend: narrow() ? { orientation: "h", y: -0.25, font: { size: 11 } } : { font: { size: 11 } },
    height: narrow() ? 520 : 460,
  };
  for (const [key, value] of Object.entries(extra)) {
    base[key] = /^[xy]axis/.test(key) ? { ...axis, ...value, title: { text: value.title, standoff: 8 } } : value;
  }
  return base;
}
const config = { displayModeBar: false, responsive: true };
const draw = (id, traces, extra) => Plotly.react(id, traces, layout(extra), config);
const dark = matchMedia("(prefers-color-scheme: dark)");
const dashOf = (policy) => policy.bound ? "dash" : "solid";
// There are more policies than colours that everybody can tell apart: the others are grey.
const colour = (n) => data.policies[n].color ? data.policies[n].color[dark.matches ? 1 : 0] : css("--other");
const isShown = (n) => state.shown.has(Number(n));
const nameOf = (n) => (Number(n) === data.chosen ? "▶ " : "") + plain(data.policies[n].name) + (data.policies[n].bound ? " (bound)" : "");

function drawGrowth() {
  const transcript = data.transcripts[state.transcript];
  const traces = [];
  let top = 0;
  const entries = Object.entries(transcript.calls).filter(([n]) => isShown(n));
  // Grey ones first, so that they lie below and stand at the end of the legend.
  entries.sort(([a], [b]) => (data.policies[a].color ? 1 : 0) - (data.policies[b].color ? 1 : 0));
  for (const [n, calls] of entries) {
    const policy = data.policies[n], x = calls.sent.map((_, i) => i + 1);
    top = Math.max(top, ...calls.sent);
    const symbols = x.map((call, i) => calls.status[i] !== "ok" ? "x" : calls.compacted[i] ? "diamond" : "circle");
    const sizes = x.map((call, i) => calls.status[i] !== "ok" && (i === 0 || calls.status[i - 1] === "ok") ? 10 : calls.compacted[i] ? 7 : x.length > 40 ? 0.1 : 4);
    traces.push({
      x, y: calls.sent, name: nameOf(n), legendrank: policy.color ? 1 : 2, mode: "lines+markers", line: { color: colour(n), width: Number(n) === data.chosen ? 3.5 : policy.color ? 2 : 1.1, dash: dashOf(policy) },
      marker: { symbol: symbols, size: sizes, color: colour(n) },
      text: x.map((_, i) => calls.status[i]), hovertemplate: "call %{x}: %{y:,} tokens, %{text}<extra>" + plain(policy.shown) + "</extra>",
    });
  }
  const limits = transcript.limits.filter(([value]) => value < top * 1.5);
  draw("chart-growth", traces, {
    xaxis: { title: "call" }, yaxis: { title: "input tokens sent", rangemode: "tozero", range: [0, Math.max(top, ...limits.map(([v]) => v)) * 1.06] },
    shapes: limits.map(([value]) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value, line: { color: css("--lost"), width: 1, dash: "dot" } })),
    annotations: limits.map(([value, name]) => ({ xref: "paper", x: 0, y: value, text: plain(name) + " " + value.toLocaleString("en"), showarrow: false, xanchor: "left", yanchor: "bottom", font: { size: 11, color: css("--lost") } })),
  });
}

function drawDollars() {
  const classes = [["read", "#56B4E9"], ["write", "#0072B2"], ["uncached", "#E69F00"], ["output", "#009E73"], ["summary", "#9467bd"]];
  const rows = data.dollars.filter((row) => isShown(row.policy));
  if (!rows.length) return empty("chart-dollars", "No prices are known for these transcripts.");
  draw("chart-dollars", classes.map(([name, color]) => ({
    type: "bar", orientation: "h", name, marker: { color }, y: rows.map((row) => nameOf(row.policy)), x: rows.map((row) => row[name]),
    hovertemplate: name + ": %{x:.4f} USD<extra>%{y}</extra>",
  })), { barmode: "stack", xaxis: { title: "USD" }, yaxis: { title: "", autorange: "reversed" }, height: 120 + 26 * rows.length, legend: { orientation: "h", y: 1.02, yanchor: "bottom" } });
}

function empty(id, text) {
  Plotly.purge(id);
  $(id).replaceChildren(el("p", text, "quiet"));
  $(id).style.minHeight = "0";
}

function drawTradeoff() {
  const chart = data.tradeoff[state.axis];
  if (!chart || !chart.points.length) return empty("chart-tradeoff", "No call needed anything old: survival says nothing here.");
  const traces = chart.lines.map((line) => ({
    x: line.x, y: line.y, mode: "lines", name: line.name, line: { color: css("--text"), width: 1.5, dash: line.dash, shape: "vh" }, hovertemplate: "%{y:.0f}% for at least %{x:.1f}%<extra>" + line.name + "</extra>",
  }));
  const bars = (reach) => ({ type: "data", array: [reach[0]], arrayminus: [reach[1]], thickness: 1, width: 3 });
  for (const point of chart.points.filter((one) => isShown(one.policy))) {
    const policy = data.policies[point.policy], chosen = point.policy === data.chosen;
    traces.push({
      x: [point.x], y: [point.y], mode: chosen ? "markers+text" : "markers", text: [nameOf(point.policy)], textposition: point.x > 60 ? "middle left" : "middle right", name: nameOf(point.policy),
      legendrank: policy.color ? 1 : 2, opacity: point.beaten ? 0.5 : 1, error_x: policy.color && point.reach ? bars(point.reach) : {}, error_y: policy.color && point.kept ? bars(point.kept) : {},
      marker: { symbol: policy.bound ? "square" : "circle", size: chosen ? 17 : 11, color: colour(point.policy), line: { width: point.refused ? 2.5 : chosen ? 3 : 0, color: point.refused ? css("--lost") : css("--text") } },
      hovertemplate: "%{y:.1f}% kept at %{x:.1f}% of keep-all" + (point.refused ? ", " + (100 * point.refused).toFixed(1) + "% of calls refused" : "") + "<extra>" + plain(policy.shown) + "</extra>",
    });
  }
  draw("chart-tradeoff", traces, { xaxis: { title: chart.title, rangemode: "tozero" }, yaxis: { title: "kept, %", range: [-4, 106] } });
}

function drawAge() {
  if (!data.age.groups.length) return empty("chart-age", "No call needed anything old.");
  draw("chart-age", data.age.rows.filter((row) => isShown(row.policy)).map((row) => ({
    x: data.age.groups, y: row.kept, mode: "lines+markers", name: nameOf(row.policy), legendrank: data.policies[row.policy].color ? 1 : 2,
    line: { color: colour(row.policy), dash: dashOf(data.policies[row.policy]), width: row.policy === data.chosen ? 3.5 : 1.6 }, hovertemplate: "%{x}: %{y:.0f}%<extra>" + plain(data.policies[row.policy].shown) + "</extra>",
  })), { xaxis: { title: "age in calls (n needs)", type: "category" }, yaxis: { title: "kept, %", range: [-4, 106] } });
}

function drawEstimates() {
  const transcript = data.transcripts[state.transcript];
  draw("chart-estimates", Object.entries(transcript.calls).filter(([n]) => isShown(n)).map(([n, calls]) => ({
    x: calls.sent, y: calls.sent.map((sent, i) => sent ? 100 * (calls.estimated[i] - sent) / sent : 0), mode: "markers", name: nameOf(n), legendrank: data.policies[n].color ? 1 : 2,
    marker: { color: colour(n), size: 5, opacity: 0.65 }, hovertemplate: "%{x:,} tokens: %{y:+.1f}%<extra>" + plain(data.policies[n].shown) + "</extra>",
  })), { xaxis: { title: "input tokens sent" }, yaxis: { title: "estimate error, %", zeroline: true } });
}

function drawCache() {
  const calls = data.transcripts[state.transcript].calls[state.policy];
  if (!calls) return empty("chart-cache", "This policy has no calls here.");
  const x = calls.sent.map((_, i) => i + 1);
  draw("chart-cache", [["read", "from the cache", "#56B4E9"], ["write", "written", "#0072B2"], ["uncached", "uncached", "#E69F00"]].map(([key, name, color]) => ({
    type: "bar", x, y: calls[key], name, marker: { color }, hovertemplate: "call %{x}: %{y:,} tokens " + name + "<extra></extra>",
  })), { barmode: "stack", bargap: 0.08, xaxis: { title: "call" }, yaxis: { title: "input tokens" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" } });
}

// overview

function drawTable() {
  const table = $("table"), head = el("tr"), body = el("tbody");
  for (const [n, column] of data.columns.entries()) {
    const th = el("th"), button = el("button", column.title);
    th.scope = "col";
    button.type = "button";
    button.title = column.about;
    button.addEventListener("click", () => {
      state.descending = state.sort === n ? !state.descending : n > 0;
      state.sort = n;
      drawTable();
      $("table").querySelectorAll("th button")[n].focus();
    });
    th.append(button);
    if (state.sort === n) th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    head.append(th);
  }
  const rows = [...data.rows];
  if (state.sort !== null) {
    const key = (row) => row.cells[state.sort][0];
    // What isn't known stays last, whichever way.
    rows.sort((a, b) => key(a) === null ? 1 : key(b) === null ? -1 : (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (state.descending ? -1 : 1));
  }
  for (const row of rows.filter((one) => isShown(one.policy))) {
    const tr = el("tr", undefined, (data.policies[row.policy].bound ? "bound" : "") + (row.policy === data.chosen ? " chosen" : ""));
    tr.addEventListener("click", () => pickPolicy(row.policy));
    row.cells.forEach(([, text], n) => {
      const td = el("td", n ? text : undefined, row.bad && data.columns[n].title === "refused" ? "bad" : "");
      if (n === 0) {
        const swatch = el("span", undefined, "swatch"), name = el("button", undefined, "name");
        name.type = "button";
        swatch.style.background = colour(row.policy);
        name.append(swatch, text);
        td.append(name);
      }
      tr.append(td);
    });
    body.append(tr);
  }
  const thead = el("thead");
  thead.append(head);
  table.replaceChildren(thead, body);
}

// recorded compactions: only where their table lies beside the run's

function drawCompactions() {
  const told = data.compactions;
  $("recorded-section").hidden = $("recorded-link").hidden = !told;
  if (!told) return;
  const head = el("tr"), thead = el("thead"), body = el("tbody");
  for (const name of told.columns) { const th = el("th", name); th.scope = "col"; head.append(th); }
  for (const cells of told.rows) {
    const tr = el("tr");
    tr.append(...cells.map((text) => el("td", text)));
    body.append(tr);
  }
  thead.append(head);
  $("compactions").replaceChildren(thead, body);
  $("recorded-note").textContent = told.legend;
  $("recorded-means").replaceChildren(...told.means.map((line) => el("li", line)));
}

// timeline

let grid = null;

function buildGrid() {
  const transcript = data.transcripts[state.transcript], edits = transcript.edits[state.policy] || [];
  const total = transcript.calls[state.policy].sent.length;
  const rows = transcript.items.map((item) => ({ ...item, changes: [], order: item.item, made: false }));
  const byPlace = new Map(rows.map((row) => [row.item, row]));
  const told = new Map();
  for (const edit of edits) {
    // What a policy does after a call shows in the next request.
    const from = edit.moment === "after_call" ? edit.call + 1 : edit.call;
    if (edit.action === "inserted") {
      const sources = edit.sources.split(" ").filter(Boolean).map(Number);
      const order = Math.max(-1, ...sources.filter((place) => place >= 0)) + 0.5;
      const row = { item: edit.item, kind: "summary", tool: "", tokens: edit.after, first: from, used: [], text: "", changes: [{ from, state: "summary", edit }], order, made: true };
      rows.push(row);
      byPlace.set(edit.item, row);
      for (const source of sources) told.set(source, from);
      continue;
    }
    const row = byPlace.get(edit.item);
    if (!row) continue;
    const first = edit.moment === "on_tool_result" ? row.first : from;
    row.changes.push({ from: first, state: edit.action === "dropped" ? "dropped" : "edited", edit });
  }
  for (const row of rows) for (const change of row.changes) {
    if (change.state === "dropped" && told.has(row.item) && told.get(row.item) >= change.from - 1) change.state = "summarised";
  }
  rows.sort((a, b) => a.order - b.order);
  grid = { rows, total, lost: new Set((transcript.lost[state.policy] || []).map(([call, item]) => call + ":" + item)) };
}

function stateAt(row, call) {
  if (call < row.first || row.first > grid.total) return null;
  let found = { state: row.made ? "summary" : "kept", edit: null };
  for (const change of row.changes) if (change.from <= call) found = change;
  return found;
}

const FILL = { kept: "--kept", edited: "--edited", dropped: "--dropped", summarised: "--summarised", summary: "--summarised" };

function drawTimeline() {
  const box = $("timeline"), canvas = box.querySelector("canvas"), ratio = window.devicePixelRatio || 1;
  const left = 108, width = Math.max(box.clientWidth - 2, left + grid.total * 3);
  const cell = (width - left) / grid.total, high = grid.rows.length > 400 ? 8 : grid.rows.length > 60 ? 12 : 18, top = 18;
  canvas.style.width = width + "px";
  canvas.style.height = top + high * grid.rows.length + "px";
  canvas.width = width * ratio;
  canvas.height = Math.min(32000, (top + high * grid.rows.length) * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = css("--quiet");
  const step = Math.ceil(30 / cell);
  for (let call = 1; call <= grid.total; call += step) pen.fillText(String(call), left + (call - 1) * cell, 12);
  let labelled = -99;
  grid.rows.forEach((row, n) => {
    const y = top + n * high;
    if (high >= 8 || y - labelled > 11) {
      pen.fillStyle = css("--quiet");
      pen.fillText((row.tool || row.kind).slice(0, 16), 2, y + Math.min(high, 11));
      labelled = y;
    }
    for (let call = Math.max(1, row.first); call <= grid.total;) {
      const now = stateAt(row, call);
      let end = call + 1;
      while (end <= grid.total && stateAt(row, end).edit === now.edit && stateAt(row, end).state === now.state) end = grid.total < 200 ? end + 1 : Math.max(end + 1, nextChange(row, end));
      pen.fillStyle = css(FILL[now.state]);
      const thin = now.state === "dropped" || (now.state === "summarised" && !row.made);
      pen.globalAlpha = now.state === "summarised" && !row.made ? 0.35 : 1;
      pen.fillRect(left + (call - 1) * cell, y, (Math.min(end, grid.total + 1) - call) * cell, thin ? Math.max(1, high / 2) : high - 1);
      pen.globalAlpha = 1;
      call = end;
    }
    for (const call of row.used) {
      const lost = grid.lost.has(call + ":" + row.item);
      pen.fillStyle = css(lost ? "--lost" : "--needed");
      const size = Math.max(3, Math.min(cell, high) * 0.6);
      pen.fillRect(left + (call - 0.5) * cell - size / 2, y + (high - size) / 2, size, size);
    }
  });
  if (state.cell) {
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + (state.cell.call - 1) * cell, top + state.cell.row * high - 1, Math.max(3, cell), high + 1);
  }
  grid.place = (x, y) => ({ call: Math.floor((x - left) / cell) + 1, row: Math.floor((y - top) / high) });
  grid.at = (chosen) => [left + (chosen.call - 1) * cell, top + chosen.row * high];
}

function nextChange(row, call) {
  let next = grid.total + 1;
  for (const change of row.changes) if (change.from >= call && change.from < next) next = change.from;
  return next;
}

function choose(chosen) {
  const row = grid.rows[chosen.row];
  if (!row || chosen.call < 1 || chosen.call > grid.total) return;
  state.cell = chosen;
  const now = stateAt(row, chosen.call);
  const names = { kept: "as recorded", edited: "edited", dropped: "dropped", summarised: "summarised away", summary: "made by the policy" };
  const needed = row.used.includes(chosen.call) ? (grid.lost.has(chosen.call + ":" + row.item) ? "; this call needed something of it that is gone" : "; this call uses it") : "";
  $("cell").textContent = `Call ${chosen.call}, item ${row.item}: ${row.kind} ${row.tool}, ${row.tokens.toLocaleString("en")} tokens: ` +
    (now ? names[now.state] + (now.edit ? ` at call ${now.edit.call} (${now.edit.moment}: ${now.edit.reason})` : "") : "not sent yet") + needed;
  $("before").textContent = row.made ? "(made by the policy)" : row.text;
  $("after").textContent = !now ? "(not sent yet)" : now.edit ? (now.state === "dropped" || (now.state === "summarised" && !row.made) ? "(not sent)" : now.edit.text) : row.text;
  drawTimeline();
}

function jump(chosen) {
  choose(chosen);
  const [x, y] = grid.at(chosen), box = $("timeline");
  box.scrollTop = Math.max(0, y - box.clientHeight / 2);
  box.scrollLeft = Math.max(0, x - box.clientWidth / 2);
}

function hit(text, chosen) {
  const entry = el("li"), button = el("button", text);
  button.type = "button";
  button.addEventListener("click", () => jump(chosen));
  entry.append(button);
  return entry;
}

const MOST_HITS = 100;

function drawLosses() {
  const at = new Map(grid.rows.map((row, n) => [row.item, n])), lost = [...grid.lost].map((one) => one.split(":").map(Number)).filter(([, item]) => at.has(item));
  $("losses-note").textContent = lost.length ? `${lost.length.toLocaleString("en")} ${lost.length > 1 ? "losses" : "loss"}${lost.length > MOST_HITS ? `, the first ${MOST_HITS}` : ""}: a call needed what was gone` : "No call needed what was gone.";
  $("losses").replaceChildren(...lost.slice(0, MOST_HITS).map(([call, item]) => hit(`call ${call}: item ${item}, ${grid.rows[at.get(item)].tool || grid.rows[at.get(item)].kind}`, { call, row: at.get(item) })));
}

function drawHits() {
  const wanted = $("search").value.toLowerCase();
  const rows = wanted.length < 2 ? [] : grid.rows.map((row, n) => [row, n]).filter(([row]) => (row.tool + "\n" + row.text).toLowerCase().includes(wanted)).slice(0, MOST_HITS);
  $("hits").replaceChildren(...rows.map(([row, n]) => hit(`item ${row.item}: ${row.tool || row.kind}`, { call: Math.min(grid.total, Math.max(1, row.first)), row: n })));
}

function listen() {
  $("search").addEventListener("input", drawHits);
  const canvas = $("timeline").querySelector("canvas");
  canvas.addEventListener("click", (event) => choose(grid.place(event.offsetX, event.offsetY)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const from = state.cell || { call: 1, row: 0 };
    choose({ call: Math.min(grid.total, Math.max(1, from.call + step[0])), row: Math.min(grid.rows.length - 1, Math.max(0, from.row + step[1])) });
    const [x, y] = grid.at(state.cell), box = $("timeline");
    if (y < box.scrollTop + 20 || y > box.scrollTop + box.clientHeight - 20) box.scrollTop = y - box.clientHeight / 2;
    if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - 20) box.scrollLeft = x - box.clientWidth / 2;
  });
}

function drawAudit() {
  const transcript = data.transcripts[state.transcript], edits = transcript.edits[state.policy] || [];
  const table = $("trail"), head = el("tr"), body = el("tbody");
  for (const name of ["call", "moment", "item", "action", "tokens before", "tokens after", "reason"]) {
    const th = el("th", name, name === "reason" || name === "moment" || name === "action" ? "left" : "");
    th.scope = "col";
    head.append(th);
  }
  for (const edit of edits) {
    const tr = el("tr");
    const cells = [edit.call, edit.moment, edit.item, edit.action, edit.before.toLocaleString("en"), edit.after.toLocaleString("en"), edit.reason];
    cells.forEach((cell, n) => tr.append(el("td", String(cell), [1, 3, 6].includes(n) ? "left" : "")));
    body.append(tr);
  }
  const thead = el("thead");
  thead.append(head);
  table.replaceChildren(thead, body);
  const more = transcript.more[state.policy] || 0;
  $("audit-note").textContent = edits.length ? `${edits.length.toLocaleString("en")} edits${more ? `, the first of ${(edits.length + more).toLocaleString("en")}; all are in events.parquet` : ""}.` : "This policy edited nothing.";
}

// the page

function fill(id, options, chosen, pick) {
  const select = $(id);
  options.forEach(([value, text]) => {
    const option = el("option", text);
    option.value = value;
    select.append(option);
  });
  select.value = chosen;
  select.addEventListener("change", () => pick(select.value));
}

function drawAnswer() {
  $("verdict").replaceChildren(...data.verdict.map((line) => el("p", line, /^Weak|Unsure|may be chance/.test(line) ? "weak" : "")));
  const head = el("tr"), rows = data.card.map((cells) => {
    const tr = el("tr");
    cells.forEach((cell) => tr.append(el("td", cell)));
    return tr;
  });
  for (const name of ["", "advised", "keep-all"]) head.append(el("th", name));
  $("card").replaceChildren(...(rows.length ? [head, ...rows] : []));
}

function drawFilter() {
  const boxes = data.policies.map((policy, n) => {
    const label = el("label"), box = el("input"), swatch = el("span", undefined, "swatch");
    box.type = "checkbox";
    box.checked = isShown(n);
    box.addEventListener("change", () => { if (box.checked) state.shown.add(n); else state.shown.delete(n); refilter(); });
    swatch.style.background = colour(n);
    label.append(box, " ", swatch, policy.shown);
    return label;
  });
  $("boxes").replaceChildren(...boxes);
  $("filtered").textContent = state.shown.size === data.policies.length ? "all" : `${state.shown.size} of ${data.policies.length}`;
}

function refilter() {
  keep();
  drawFilter();
  drawTable(); drawTradeoff(); drawDollars(); drawAge(); drawGrowth(); drawEstimates();
}

function pickPolicy(n) {
  state.policy = n;
  $("policy").value = String(n);
  keep();
  drawPolicy();
}

// What is looked at stands in the address, so that it can be sent.
function keep() {
  const words = new URLSearchParams({ transcript: state.transcript, policy: state.policy, axis: state.axis });
  if (state.shown.size < data.policies.length) words.set("only", [...state.shown].sort((a, b) => a - b).join("."));
  history.replaceState(null, "", "#" + words);
}

function restore() {
  const words = new URLSearchParams(location.hash.slice(1)), number = (name, most) => {
    const value = Number(words.get(name));
    return words.has(name) && Number.isInteger(value) && value >= 0 && value < most ? value : null;
  };
  state.transcript = number("transcript", data.transcripts.length) ?? 0;
  state.policy = number("policy", data.policies.length) ?? data.start;
  if (data.tradeoff[words.get("axis")]) state.axis = words.get("axis");
  const only = (words.get("only") || "").split(".").filter(Boolean).map(Number).filter((n) => n in data.policies);
  if (only.length) state.shown = new Set(only);
}

function save(name, blob) {
  const link = el("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function saveTable() {
  const quote = (text) => `"${String(text).replace(/"/g, '""')}"`;
  const lines = [data.columns.map((column) => column.title), ...data.rows.filter((row) => isShown(row.policy)).map((row) => row.cells.map(([, text]) => text))];
  save("policies.csv", new Blob([lines.map((cells) => cells.map(quote).join(",")).join("\n") + "\n"], { type: "text/csv" }));
}

function drawTranscript() { drawGrowth(); drawEstimates(); drawPolicy(); }
function drawPolicy() {
  state.cell = null;
  $("cell").textContent = $("before").textContent = $("after").textContent = "";
  drawCache(); buildGrid(); drawTimeline(); drawLosses(); drawHits(); drawAudit();
}
function drawAll() { drawFilter(); drawTable(); drawTradeoff(); drawDollars(); drawAge(); drawTranscript(); }

$("title").textContent = data.title;
$("about").textContent = data.about;
$("basis").textContent = data.basis;
$("made").textContent = data.made;
for (const [name, text] of [["--kept", "in view"], ["--edited", "edited"], ["--dropped", "dropped"], ["--summarised", "summarised away, or a summary"], ["--needed", "needed by this call"], ["--lost", "needed, and lost"]]) {
  const entry = el("span"), swatch = el("span", undefined, "swatch");
  swatch.style.background = `var(${name})`;
  entry.append(swatch, document.createTextNode(text));
  $("legend").append(entry);
}
state.axis = data.tradeoff.dollars ? "dollars" : "tokens";
restore();
drawAnswer();
drawCompactions();
$("more").textContent = data.more ? `the largest; ${data.more.toLocaleString("en")} more are in the tables` : "";
$("all").addEventListener("click", () => { state.shown = new Set(data.policies.keys()); refilter(); });
$("few").addEventListener("click", () => { state.shown = new Set([...data.policies.keys()].filter((n) => data.policies[n].color || data.policies[n].bound)); refilter(); });
$("csv").addEventListener("click", saveTable);
for (const button of document.querySelectorAll("[data-png]")) button.addEventListener("click", () => Plotly.downloadImage("chart-" + button.dataset.png, { format: "png", filename: button.dataset.png, scale: 2 }));
for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", (event) => { event.preventDefault(); $(link.hash.slice(1)).scrollIntoView({ behavior: "smooth" }); });
fill("axis", Object.entries(data.tradeoff).filter(([, chart]) => chart).map(([key, chart]) => [key, chart.title]), state.axis, (value) => { state.axis = value; keep(); drawTradeoff(); });
fill("transcript", data.transcripts.map((one, n) => [String(n), one.name]), String(state.transcript), (value) => { state.transcript = Number(value); keep(); drawTranscript(); });
fill("policy", data.policies.map((one, n) => [String(n), one.shown]), String(state.policy), (value) => { state.policy = Number(value); keep(); drawPolicy(); });
listen();
drawAll();
dark.addEventListener("change", drawAll);
addEventListener("resize", () => drawTimeline());
document.documentElement.dataset.ready = "yes";
