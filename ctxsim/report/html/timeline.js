// Items by calls: what of each item was in each call's request, on a canvas that paints the part scrolled into view.

const ROW = 24, HEAD = 20, LEAST = 7;
const ARROW = { tool_call: "→ ", tool_result: "← " };
const FILL = { kept: "--kept", edited: "--edited", dropped: "--dropped", summarised: "--summarised", summary: "--summarised" };
let grid = null;

function buildGrid() {
  const edits = opened.edits[state.policy] || [], calls = opened.calls[state.policy];
  const total = calls ? calls.sent.length : 0;
  const rows = opened.items.map((item) => ({ ...item, changes: [], order: item.item, made: false, into: null }));
  const byPlace = new Map(rows.map((row) => [row.item, row]));
  for (const edit of edits) {
    // An edit after a call takes effect in the next request.
    const from = edit.moment === "after_call" ? edit.call + 1 : edit.call;
    if (edit.action === "inserted") {
      const sources = edit.sources.split(" ").filter(Boolean).map(Number);
      const order = Math.max(-1, ...sources.filter((place) => place >= 0)) + 0.5;
      const row = { item: edit.item, kind: "summary", tool: "", tokens: edit.after, first: from, used: [], text: edit.text, changes: [], order, made: true, sources: sources.length };
      rows.push(row);
      byPlace.set(edit.item, row);
      for (const source of sources) if (byPlace.has(source)) byPlace.get(source).into = { from, item: edit.item };
      continue;
    }
    const row = byPlace.get(edit.item);
    if (row) row.changes.push({ from: edit.moment === "on_tool_result" ? row.first : from, state: edit.action === "dropped" ? "dropped" : "edited", edit });
  }
  rows.sort((a, b) => a.order - b.order);
  for (const row of rows) row.spans = spansOf(row, total);
  unfolded.clear();
  grid = { rows, total, at: new Map(rows.map((row, n) => [row.item, n])), lost: new Set((opened.lost[state.policy] || []).map(([call, item]) => call + ":" + item)) };
}

// A row's states by calls: [{ from, to, state, edit }], without gaps from its first call to the last.
function spansOf(row, total) {
  const spans = row.first > total ? [] : [{ from: row.first, state: row.made ? "summary" : "kept", edit: null }];
  // Some policies edit every request anew: an item that they don't edit again is whole again.
  const anew = row.changes.some(({ edit }, n) => edit.through > edit.call || (n && edit.before === row.tokens && row.changes[n - 1].edit.after !== row.tokens));
  const put = (span) => {
    if (span.from > total || !spans.length) return;
    while (spans.length && spans[spans.length - 1].from >= span.from) spans.pop();
    spans.push(span);
  };
  for (const { from, state: changed, edit } of row.changes) {
    const summarised = changed === "dropped" && row.into && row.into.from >= from - 1;
    put({ from: Math.max(from, row.first), state: summarised ? "summarised" : changed, edit });
    if (anew) put({ from: from + edit.through - edit.call + 1, state: "kept", edit: null });
  }
  spans.forEach((span, n) => { span.to = n + 1 < spans.length ? spans[n + 1].from - 1 : total; });
  return spans;
}

const spanAt = (row, call) => row.spans.find((span) => span.from <= call && call <= span.to) || null;
const gone = (span) => span.state === "dropped" || span.state === "summarised";
const tokensAt = (row, span) => gone(span) ? 0 : span.edit ? span.edit.after : row.tokens;
const isLost = (row, call) => grid.lost.has(call + ":" + row.item);
const called = (row) => row.made ? "summary" : `${row.kind.replace("_", " ")}${row.tool ? " " + row.tool : ""}`;

// The size of the grid: it fills the box, and is wider if its calls need more.
function measure() {
  const box = $("timeline"), left = narrow() ? 84 : 132;
  const room = box.clientWidth - left, cell = Math.max(LEAST, room / Math.max(1, grid.total));
  return { left, cell, width: left + cell * grid.total, height: HEAD + ROW * grid.rows.length, shown: { width: box.clientWidth, height: Math.min(540, HEAD + ROW * grid.rows.length) } };
}

function drawTimeline() {
  if (!grid) return;
  const box = $("timeline"), size = measure(), canvas = $("canvas"), extent = canvas.parentNode;
  extent.style.width = size.width + "px";
  extent.style.height = size.height + "px";
  paint(canvas, size, { x: box.scrollLeft, y: box.scrollTop, ...size.shown }, window.devicePixelRatio || 1);
}

// Paint the part of the grid that is `seen`; names stay at the left, numbers of calls at the top.
function paint(canvas, { left, cell }, seen, ratio) {
  canvas.style.width = seen.width + "px";
  canvas.style.height = seen.height + "px";
  canvas.width = seen.width * ratio;
  canvas.height = seen.height * ratio;
  const pen = canvas.getContext("2d"), ink = Object.fromEntries([...new Set(Object.values(FILL)), "--needed", "--lost", "--quiet", "--ground", "--line", "--accent", "--text"].map((name) => [name, css(name)]));
  const x = (call) => left + (call - 1) * cell - seen.x, y = (n) => HEAD + n * ROW - seen.y;
  const firstRow = Math.max(0, Math.floor(seen.y / ROW)), lastRow = Math.min(grid.rows.length - 1, Math.floor((seen.y + seen.height - HEAD) / ROW));
  const firstCall = Math.max(1, Math.floor(seen.x / cell) + 1), lastCall = Math.min(grid.total, Math.ceil((seen.x + seen.width - left) / cell));
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.fillStyle = ink["--ground"];
  pen.fillRect(0, 0, seen.width, seen.height);
  for (let n = firstRow; n <= lastRow; n += 1) {
    const row = grid.rows[n], top = y(n) + 3, high = ROW - 6;
    for (const span of row.spans) {
      if (span.to < firstCall || span.from > lastCall) continue;
      const from = Math.max(x(span.from), left - cell), wide = x(span.to + 1) - from - 1;
      pen.fillStyle = ink[FILL[span.state]];
      // An item that is gone is a thin line, because the request doesn't hold it.
      if (gone(span)) pen.fillRect(from, top + high / 2 - 1, wide, 2);
      else pen.fillRect(from, top, wide, high);
    }
    for (const call of row.used) {
      if (call < firstCall || call > lastCall) continue;
      const mark = Math.min(9, Math.max(5, cell - 2)), middle = x(call) + cell / 2;
      pen.fillStyle = ink["--ground"];
      pen.fillRect(middle - mark / 2 - 1.5, top + high / 2 - mark / 2 - 1.5, mark + 3, mark + 3);
      pen.fillStyle = ink[isLost(row, call) ? "--lost" : "--needed"];
      if (isLost(row, call)) cross(pen, middle, top + high / 2, mark / 2 + 1);
      else pen.fillRect(middle - mark / 2, top + high / 2 - mark / 2, mark, mark);
    }
  }
  if (state.cell && grid.at.has(state.cell.item)) {
    pen.strokeStyle = ink["--accent"];
    pen.lineWidth = 2;
    pen.strokeRect(x(state.cell.call), y(grid.at.get(state.cell.item)) + 1, Math.max(4, cell), ROW - 2);
  }
  pen.fillStyle = ink["--ground"];
  pen.fillRect(0, 0, left - 2, seen.height);
  pen.fillRect(0, 0, seen.width, HEAD);
  pen.fillStyle = ink["--quiet"];
  for (let n = firstRow; n <= lastRow; n += 1) {
    const middle = y(n) + ROW / 2;
    if (middle > HEAD) pen.fillText(cutTo(pen, ARROW[grid.rows[n].kind] && grid.rows[n].tool ? ARROW[grid.rows[n].kind] + grid.rows[n].tool : called(grid.rows[n]), left - 10), 4, middle);
  }
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((one) => one * cell >= 34) || 2000;
  for (let call = Math.max(step === 1 ? 1 : step, Math.ceil(firstCall / step) * step); call <= lastCall; call += step) if (x(call) >= left - 1) {
    // In the middle of its cell; a number wider than that ends at the cell's end, as the last one has no room after it.
    const wide = pen.measureText(String(call)).width;
    pen.fillText(String(call), x(call) + (cell + Math.min(cell, wide)) / 2 - wide, HEAD / 2);
  }
  pen.fillText("call", 4, HEAD / 2);
}

function cutTo(pen, text, wide) {
  let cut = text;
  while (cut.length > 1 && pen.measureText(cut + (cut === text ? "" : "…")).width > wide) cut = cut.slice(0, -1);
  return cut === text ? text : cut + "…";
}

function cross(pen, x, y, reach) {
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = 2.5;
  pen.beginPath();
  for (const side of [1, -1]) { pen.moveTo(x - reach, y - reach * side); pen.lineTo(x + reach, y + reach * side); }
  pen.stroke();
}

// The whole grid as a picture, up to the largest size of a canvas.
const LARGEST = 16000;

function saveTimeline() {
  const size = measure(), canvas = el("canvas");
  paint(canvas, size, { x: 0, y: 0, width: Math.min(LARGEST, size.width), height: Math.min(LARGEST, size.height) }, 1);
  canvas.toBlob((blob) => save("timeline.png", blob));
}

// The chosen cell: by a click, a key, a loss, a found text or the address.

function choose(cell, follow) {
  const call = Math.max(1, Math.min(grid.total, cell.call));
  state.cell = { call, item: grid.at.has(cell.item) ? cell.item : null };
  keep();
  $("call").value = call;
  drawTimeline();
  if (follow) show();
  drawSides();
}

function show() {
  const box = $("timeline"), size = measure(), n = grid.at.get(state.cell.item) ?? 0;
  const x = size.left + (state.cell.call - 1) * size.cell, y = HEAD + n * ROW;
  if (y < box.scrollTop + HEAD || y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
  if (x < box.scrollLeft + size.left || x + size.cell > box.scrollLeft + box.clientWidth) box.scrollLeft = x - box.clientWidth / 2;
}

// The default cell: the first loss, else the first edit, else the last call.
function beginning() {
  const [call, item] = (opened.lost[state.policy] || []).find(([, place]) => grid.at.has(place)) || [];
  if (call !== undefined) return { call, item };
  const edit = (opened.edits[state.policy] || []).find((one) => grid.at.has(one.item));
  if (!edit) return { call: grid.total, item: null };
  return { call: Math.max(grid.rows[grid.at.get(edit.item)].first, edit.moment === "after_call" ? edit.call + 1 : edit.call), item: edit.item };
}

function hit(text, cell) {
  const entry = el("li"), button = el("button", text);
  button.type = "button";
  button.addEventListener("click", () => choose(cell, true));
  entry.append(button);
  return entry;
}

const MOST_HITS = 100;

function drawLosses() {
  const lost = [...grid.lost].map((one) => one.split(":").map(Number)).filter(([, item]) => grid.at.has(item));
  $("losses-note").textContent = lost.length ? `${many(lost.length, "loss", "losses")}${lost.length > MOST_HITS ? `, the first ${MOST_HITS}` : ""}: a call needed what was gone` : "No call needed what was gone.";
  $("losses").replaceChildren(...lost.slice(0, MOST_HITS).map(([call, item]) => hit(`call ${call}: item ${item}, ${called(grid.rows[grid.at.get(item)])}`, { call, item })));
}

function drawHits() {
  const wanted = $("search").value.toLowerCase();
  const rows = wanted.length < 2 ? [] : grid.rows.filter((row) => (row.tool + "\n" + row.text).toLowerCase().includes(wanted));
  $("hits-note").textContent = wanted.length < 2 ? "" : `${many(rows.length, "item")}${rows.length > MOST_HITS ? `, the first ${MOST_HITS}` : ""}`;
  $("hits").replaceChildren(...rows.slice(0, MOST_HITS).map((row) => hit(`item ${row.item}: ${called(row)}`, { call: row.first, item: row.item })));
}

function listenToTimeline() {
  const box = $("timeline"), canvas = $("canvas");
  box.addEventListener("scroll", drawTimeline);
  $("search").addEventListener("input", drawHits);
  canvas.addEventListener("click", (event) => {
    const { left, cell } = measure(), row = grid.rows[Math.floor((event.offsetY + box.scrollTop - HEAD) / ROW)];
    if (row && event.offsetY > HEAD) choose({ call: event.offsetX < left ? row.first : Math.floor((event.offsetX + box.scrollLeft - left) / cell) + 1, item: row.item });
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || !grid.rows.length) return;
    event.preventDefault();
    const n = Math.min(grid.rows.length - 1, Math.max(0, (grid.at.get(state.cell.item) ?? 0) + step[1]));
    choose({ call: state.cell.call + step[0], item: grid.rows[n].item }, true);
  });
}
