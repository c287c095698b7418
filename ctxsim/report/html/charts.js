// The charts, by Plotly. A policy's line acts like its row: it is named at the pointer, chosen by a click, and filtered.

const narrow = () => window.innerWidth < 700;
const dark = matchMedia("(prefers-color-scheme: dark)");
// Plotly interprets some markup in names; labels are untrusted.
const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

const isShown = (n) => state.shown.has(Number(n));
const isBound = (n) => data.policies[n].bound;
const isColoured = (n) => Boolean(data.policies[n].color);
const nameOf = (n) => (Number(n) === data.chosen ? "▶ " : "") + plain(data.policies[n].name) + (isBound(n) ? " (bound)" : "");
const shortened = (name) => name.length > 18 ? name.slice(0, 9) + "…" + name.slice(-8) : name;
const fullNameOf = (n) => `<extra>${plain(data.policies[n].shown)}</extra>`;
// There may be more policies than distinguishable colours: the others are grey, except the chosen one.
const colour = (n) => isColoured(n) ? data.policies[n].color[dark.matches ? 1 : 0] : css(Number(n) === state.policy ? "--text" : "--other");
const widthOf = (n) => Number(n) === state.policy ? 3.5 : isColoured(n) ? 2 : 1.1;
// Grey lines first, so that they lie below the others; the chosen policy last.
const layered = (numbers) => numbers.map(Number).filter(isShown).sort((a, b) => rankOf(a) - rankOf(b));
const rankOf = (n) => n === state.policy ? 2 : isColoured(n) ? 1 : 0;
// A legend can't distinguish grey lines: they are named at the pointer.
const MOST_NAMED = 10;
const inLegend = (n) => isColoured(n) || Number(n) === state.policy || state.shown.size <= MOST_NAMED || (isBound(n) && !narrow());
const traceOf = (n) => ({ meta: Number(n), name: nameOf(n), showlegend: inLegend(n), legendrank: isColoured(n) ? 1 : 2 });

function layout(extra) {
  const line = css("--line"), text = css("--text"), ground = css("--ground");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, fixedrange: narrow() };
  const base = {
    paper_bgcolor: ground, plot_bgcolor: ground, font: { color: text, family: "system-ui, sans-serif", size: 13 },
    margin: { l: 60, r: 16, t: 12, b: 48 }, hovermode: "closest", hoverlabel: { align: "left", namelength: -1 },
    legend: { orientation: "h", y: -0.2, yanchor: "top", font: { size: 12 } }, height: 480,
  };
  for (const [key, value] of Object.entries(extra)) {
    base[key] = /^[xy]axis/.test(key) ? { ...axis, ...value, title: { text: value.title, standoff: 8 } } : value;
  }
  return base;
}

// Paper is narrower than most screens.
const PAPER = 680;
const resized = (size) => { for (const box of document.querySelectorAll(".chart")) if (box.data) Plotly.relayout(box, size); };
addEventListener("beforeprint", () => resized({ width: PAPER }));
addEventListener("afterprint", () => resized({ width: null, autosize: true }));

function draw(id, traces, extra) {
  const box = $(id), first = !box.data;
  if (first) box.replaceChildren();
  box.style.minHeight = "";
  Plotly.react(id, traces, layout(extra), { displayModeBar: false, responsive: true });
  if (!first) return;
  box.on("plotly_click", ({ points: [point] }) => { if (point.data.meta !== undefined) pickPolicy(point.data.meta); });
  box.on("plotly_legendclick", ({ data: traces, curveNumber }) => filterBy(traces[curveNumber].meta, (n) => { if (!state.shown.delete(n)) state.shown.add(n); }));
  box.on("plotly_legenddoubleclick", ({ data: traces, curveNumber }) => filterBy(traces[curveNumber].meta, (n) => {
    state.shown = new Set(state.shown.size === 1 ? data.policies.keys() : [n]);
  }));
}

// A click in a legend changes the filter of all charts, never this chart alone.
function filterBy(n, change) {
  if (n !== undefined) { change(n); refilter(); }
  return false;
}

function empty(id, text) {
  Plotly.purge(id);
  $(id).replaceChildren(el("p", text, "quiet"));
  $(id).style.minHeight = "0";
}

function drawTradeoff() {
  const chart = data.tradeoff[state.axis];
  if (!chart || !chart.points.length) return empty("chart-tradeoff", "No call needed anything old: survival says nothing here.");
  const traces = chart.lines.filter((line) => line.x.length).map((line) => ({
    x: line.x, y: line.y, mode: "lines", name: line.name, line: { color: css("--text"), width: 1.5, dash: line.dash, shape: "vh" }, hovertemplate: "%{y:.0f}% for at least %{x:.1f}%<extra>" + line.name + "</extra>",
  }));
  const bars = (reach) => ({ type: "data", array: [reach[0]], arrayminus: [reach[1]], thickness: 1, width: 3 });
  for (const members of chart.joined) {
    const shown = members.filter(isShown).map((n) => chart.points.find((point) => point.policy === n));
    traces.push({ x: shown.map((point) => point.x), y: shown.map((point) => point.y), mode: "lines", showlegend: false, hoverinfo: "skip", line: { color: css("--other"), width: 1 } });
  }
  const right = Math.max(...chart.points.map((point) => point.x + (point.reach ? point.reach[0] : 0)));
  const byPolicy = new Map(chart.points.map((point) => [point.policy, point]));
  for (const n of layered([...byPolicy.keys()])) {
    const point = byPolicy.get(n), told = n === data.chosen || n === state.policy, inColour = isColoured(n) || n === state.policy;
    // Where there is most room, and off the point's own bar.
    const beside = (!point.reach?.[0] ? "middle" : point.y > 50 ? "bottom" : "top") + (point.x > right / 2 ? " left" : " right");
    const symbol = (isBound(n) ? "square" : "circle") + (point.beaten ? "-open" : "");
    traces.push({
      ...traceOf(n), x: [point.x], y: [point.y], mode: told && !narrow() ? "markers+text" : "markers", text: [nameOf(n)], textposition: beside,
      error_x: inColour && point.reach ? bars(point.reach) : {}, error_y: inColour && point.kept ? bars(point.kept) : {},
      marker: {
        symbol, size: n === data.chosen ? 17 : n === state.policy ? 14 : 11, color: point.beaten && point.refused ? css("--lost") : colour(n),
        line: { width: point.beaten ? 2 : point.refused ? 2.5 : n === data.chosen ? 3 : 0, color: point.refused ? css("--lost") : point.beaten ? colour(n) : css("--text") },
      },
      hovertemplate: "%{y:.1f}% kept at %{x:.1f}% of keep-all" + (point.refused ? ", " + (100 * point.refused).toFixed(1) + "% of calls refused" : "") + fullNameOf(n),
    });
  }
  draw("chart-tradeoff", traces, { xaxis: { title: chart.title, rangemode: "tozero" }, yaxis: { title: "kept, %", range: [-4, 106] } });
}

const MOST_MARKS = 60;

function drawGrowth() {
  const traces = [];
  let top = 0;
  for (const n of layered(Object.keys(opened.calls))) {
    const calls = opened.calls[n], x = calls.sent.map((_, i) => i + 1);
    top = calls.sent.reduce((a, b) => Math.max(a, b), top);
    const refused = x.filter((_, i) => calls.status[i] !== "ok").slice(0, 1);
    const compacted = x.filter((call) => calls.compacted[call - 1] && !refused.includes(call));
    const marks = [...(compacted.length > MOST_MARKS ? [] : compacted), ...refused];
    const lined = { color: colour(n), width: widthOf(n), dash: isBound(n) ? "dash" : "solid" }, told = { hovertemplate: "call %{x}: %{y:,} tokens, %{text}" + fullNameOf(n) };
    traces.push({ ...traceOf(n), x, y: calls.sent, mode: x.length > 40 ? "lines" : "lines+markers", line: lined, marker: { size: 4, color: colour(n) }, text: calls.status, ...told });
    if (marks.length && inLegend(n)) traces.push({
      ...traceOf(n), showlegend: false, x: marks, y: marks.map((call) => calls.sent[call - 1]), mode: "markers", text: marks.map((call) => calls.status[call - 1]), ...told,
      marker: { color: marks.map((call) => refused.includes(call) ? css("--lost") : colour(n)), symbol: marks.map((call) => refused.includes(call) ? "x" : "diamond"), size: marks.map((call) => refused.includes(call) ? 10 : 7) },
    });
  }
  const limits = opened.limits.filter(([value]) => value < top * 1.5).sort(([a], [b]) => b - a);
  const end = Math.max(...Object.values(opened.calls).map(({ sent }) => sent.length)) + 0.5;
  // The limits' names are in the legend, where no line crosses them: one entry per name, from the smallest to the largest.
  for (const name of new Set(limits.map(([, name]) => name))) {
    const values = limits.filter(([, other]) => other === name).map(([value]) => value);
    traces.push({
      name: plain(name) + ": " + [...new Set([values[values.length - 1], values[0]])].map((value) => value.toLocaleString("en")).join(" to "), x: values.flatMap(() => [0.5, end, null]), y: values.flatMap((value) => [value, value, null]),
      mode: "lines", line: { color: css("--text"), width: 1, dash: "1px,4px" }, legendrank: 3, hoverinfo: "skip",
    });
  }
  draw("chart-growth", traces, { xaxis: { title: "call" }, yaxis: { title: "input tokens sent", range: [0, 1.06 * Math.max(top, ...limits.map(([value]) => value))] } });
}

function drawDollars() {
  const rows = data.dollars.filter((row) => isShown(row.policy));
  if (!rows.length) return empty("chart-dollars", "No prices are known for these transcripts.");
  const names = rows.map((row) => nameOf(row.policy));
  draw("chart-dollars", ["read", "write", "uncached", "output", "summary", "refetch"].filter((name) => rows.some((row) => row[name])).map((name) => ({
    type: "bar", orientation: "h", name, marker: { color: css("--" + name) }, y: rows.map((_, i) => i), x: rows.map((row) => row[name]), text: names, textposition: "none",
    hovertemplate: name + ": %{x:.4f} USD<extra>%{text}</extra>",
  })), {
    barmode: "stack", xaxis: { title: "USD" }, yaxis: { title: "", autorange: "reversed", tickvals: rows.map((_, i) => i), ticktext: narrow() ? names.map(shortened) : names }, height: 120 + 26 * rows.length,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", traceorder: "normal" },
  });
}

function drawAge() {
  if (!data.age.groups.length) return empty("chart-age", "No call needed anything old.");
  const kept = new Map(data.age.rows.map((row) => [row.policy, row.kept]));
  draw("chart-age", layered([...kept.keys()]).map((n) => ({
    ...traceOf(n), x: data.age.groups, y: kept.get(n), mode: "lines+markers", line: { color: colour(n), dash: isBound(n) ? "dash" : "solid", width: widthOf(n) }, hovertemplate: "%{x}: %{y:.0f}%" + fullNameOf(n),
  })), { xaxis: { title: "age in calls (n needs)", type: "category" }, yaxis: { title: "kept, %", range: [-4, 106] } });
}

const MOST_DOTS = 250;

function drawEstimates() {
  draw("chart-estimates", layered(Object.keys(opened.calls)).map((n) => {
    const calls = opened.calls[n], step = Math.ceil(calls.sent.length / MOST_DOTS);
    const dots = calls.sent.map((_, i) => i).filter((i) => calls.sent[i] && i % step === 0);
    return {
      ...traceOf(n), x: dots.map((i) => calls.sent[i]), y: dots.map((i) => 100 * (calls.estimated[i] - calls.sent[i]) / calls.sent[i]), mode: "markers",
      text: dots.map((i) => i + 1), marker: { color: colour(n), size: 6 }, hovertemplate: "call %{text}, %{x:,} tokens: %{y:+.1f}%" + fullNameOf(n),
    };
  }), { xaxis: { title: "input tokens sent", rangemode: "tozero" }, yaxis: { title: "estimate error, %", zeroline: true, zerolinecolor: css("--quiet") } });
}

const MOST_BARS = 200;

function drawCache() {
  const calls = opened.calls[state.policy];
  if (!calls) return empty("chart-cache", "This policy has no calls here.");
  const x = calls.sent.map((_, i) => i + 1);
  const form = (color) => x.length > MOST_BARS ? { mode: "lines", stackgroup: "all", line: { width: 0, shape: "hv" }, fillcolor: color } : { type: "bar", marker: { color } };
  draw("chart-cache", [["read", "from the cache"], ["write", "written"], ["uncached", "uncached"]].map(([key, name]) => ({
    ...form(css("--" + key)), x, y: calls[key], name, hovertemplate: "call %{x}: %{y:,} tokens " + name + "<extra></extra>",
  })), { barmode: "stack", bargap: 0.08, xaxis: { title: "call" }, yaxis: { title: "input tokens" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", traceorder: "normal" } });
}

// A chart is drawn when it comes near the screen, so that a page of many policies opens before all charts are drawn.
const CHARTS = { tradeoff: drawTradeoff, growth: drawGrowth, dollars: drawDollars, age: drawAge, estimates: drawEstimates, cache: drawCache };
const near = new Set(["tradeoff"]), stale = new Set();

function redraw(...names) {
  for (const name of names) {
    if (near.has(name)) CHARTS[name]();
    else stale.add(name);
  }
}

function drawStale(names) {
  for (const name of names) if (stale.delete(name)) CHARTS[name]();
}

function watchCharts() {
  const watcher = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    const name = target.id.slice("chart-".length);
    near[isIntersecting ? "add" : "delete"](name);
    if (isIntersecting) drawStale([name]);
  }), { rootMargin: "400px" });
  for (const name of Object.keys(CHARTS)) watcher.observe($("chart-" + name));
  addEventListener("beforeprint", () => drawStale([...stale]));
}
