// The page's controls, and what is redrawn when the state changes.

const MOST_OPTIONS = 300;

function fill(id, options, chosen) {
  $(id).replaceChildren(...options.map(([value, text]) => {
    const option = el("option", text);
    option.value = value;
    return option;
  }));
  $(id).value = String(chosen);
}

// The transcripts whose name contains the searched text; the chosen one stays among them.
function drawChooser() {
  const part = $("find").value.toLowerCase(), all = data.transcripts.map((one, n) => [n, one]);
  const found = all.filter(([, one]) => one.name.toLowerCase().includes(part));
  const options = found.slice(0, MOST_OPTIONS);
  if (!options.some(([n]) => n === state.transcript)) options.unshift(all[state.transcript]);
  fill("transcript", options.map(([n, one]) => [n, `${one.name} (${many(one.calls, "call")}, ${compact(one.tokens)} tokens)`]), state.transcript);
  const held = data.more ? `the ${all.length.toLocaleString("en")} largest of ${(all.length + data.more).toLocaleString("en")}; ctxsim report --transcript WORD writes a page of others` : all.length > 1 ? many(all.length, "transcript") : "";
  $("more").textContent = part ? `${many(found.length, "name")} with that${found.length > MOST_OPTIONS ? `, the first ${MOST_OPTIONS} in the list` : ""}` : held;
  $("find").parentNode.hidden = all.length < 2;
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
  rebuild($("boxes"), "input", () => $("boxes").replaceChildren(...boxes));
  $("filtered").textContent = state.shown.size === data.policies.length ? "all" : `${state.shown.size} of ${data.policies.length}`;
}

function drawLegend() {
  $("legend").replaceChildren(...[
    ["--kept", "in view", "bar"], ["--edited", "cut or cleared", "bar"], ["--dropped", "dropped", "line"], ["--summarised", "summarised away", "line"],
    ["--summarised", "a summary", "bar"], ["--needed", "needed by this call", "dot"], ["--lost", "needed, and lost", "cross"],
  ].map(([name, text, form]) => {
    const entry = el("span"), swatch = el("span", form === "cross" ? "✕" : undefined, "swatch " + form);
    swatch.style[form === "cross" ? "color" : "background"] = `var(${name})`;
    entry.append(swatch, text);
    return entry;
  }));
}

const drawShared = () => { drawFilter(); drawTable(); redraw("tradeoff", "dollars", "age"); };
const drawLines = () => redraw("growth", "estimates");
const refilter = () => { keep(); drawShared(); drawLines(); };
const told = (name, text) => { for (const place of document.querySelectorAll(".which-" + name)) place.textContent = text; };

function drawPolicy() {
  told("policy", data.policies[state.policy].shown);
  redraw("cache");
  buildGrid();
  $("call").max = grid.total;
  drawLosses(); drawHits(); drawAudit();
  choose(state.cell ?? beginning(), true);
}

function pickPolicy(n) {
  if (n === state.policy) return;
  state.policy = n;
  $("policy").value = String(n);
  state.cell = null;
  drawShared(); drawLines(); drawPolicy();
}

let wanted = 0;

async function pickTranscript(n) {
  wanted = n;
  const part = await unpack(n);
  // The user has chosen another transcript meanwhile.
  if (wanted !== n) return;
  opened = part;
  if (state.transcript !== n) state.cell = null;
  state.transcript = n;
  told("transcript", data.transcripts[n].name);
  drawChooser(); drawLines(); drawPolicy();
}

function listen() {
  $("axis").addEventListener("change", () => { state.axis = $("axis").value; keep(); redraw("tradeoff"); });
  $("policy").addEventListener("change", () => pickPolicy(Number($("policy").value)));
  $("transcript").addEventListener("change", () => pickTranscript(Number($("transcript").value)));
  $("find").addEventListener("input", drawChooser);
  $("all").addEventListener("click", () => { state.shown = new Set(data.policies.keys()); refilter(); });
  $("few").addEventListener("click", () => { state.shown = new Set([...data.policies.keys()].filter((n) => isColoured(n) || isBound(n))); refilter(); });
  $("png-timeline").addEventListener("click", saveTimeline);
  for (const button of document.querySelectorAll("[data-csv]")) button.addEventListener("click", () => save(button.dataset.csv + ".csv", new Blob([csvOf(CSVS[button.dataset.csv]())], { type: "text/csv" })));
  for (const button of document.querySelectorAll("[data-png]")) button.addEventListener("click", () => Plotly.downloadImage("chart-" + button.dataset.png, { format: "png", filename: button.dataset.png, scale: 2 }));
  // Links within the page scroll without changing the address, which holds the state.
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", (event) => { event.preventDefault(); $(link.hash.slice(1)).scrollIntoView({ behavior: "smooth" }); });
  dark.addEventListener("change", () => { drawShared(); drawLines(); redraw("cache"); drawTimeline(); });
  addEventListener("resize", drawTimeline);
  listenToTimeline();
  listenToSides();
}

async function begin() {
  for (const name of ["title", "about", "basis", "meaning", "made"]) $(name).textContent = data[name];
  state.axis = data.tradeoff.dollars ? "dollars" : "tokens";
  restore();
  fill("axis", Object.entries(data.tradeoff).filter(([, chart]) => chart).map(([key, chart]) => [key, chart.title]), state.axis);
  fill("policy", data.policies.map((one, n) => [n, one.shown]), state.policy);
  listen();
  drawAnswer(); drawLegend(); drawCompactions(); drawShared();
  if (window.DecompressionStream) {
    await pickTranscript(state.transcript);
    watchCharts();
  } else $("more").textContent = "This browser can't open the transcripts in this page: Chromium 80, Firefox 113 and Safari 16.4 are the first that can.";
  document.documentElement.dataset.ready = "yes";
}

begin();
