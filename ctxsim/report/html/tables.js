// The tables: policies, which a click sorts and chooses, recorded compactions, and the audit trail.

const LEFT = new Set(["moment", "action", "reason"]);

function headed(table, names, rows) {
  const head = el("thead"), row = el("tr"), body = el("tbody");
  for (const name of names) {
    const th = el("th", name, LEFT.has(name) ? "left" : "");
    th.scope = "col";
    row.append(th);
  }
  head.append(row);
  body.append(...rows.map((cells) => {
    const tr = el("tr");
    tr.append(...cells.map((cell, n) => el("td", cell, LEFT.has(names[n]) ? "left" : "")));
    return tr;
  }));
  table.replaceChildren(head, body);
}

function drawAnswer() {
  $("verdict").replaceChildren(...data.verdict.map((line) => el("p", line, /^Weak|Unsure|may be chance/.test(line) ? "weak" : /^ /.test(line) ? "paste" : /^(Set in |Change nothing\b)/.test(line) ? "answer" : "")));
  $("card").parentNode.hidden = !data.card.length;
  if (data.card.length) headed($("card"), ["in numbers", data.policies[data.chosen].name, data.beside], data.card);
}

function sortedRows() {
  const rows = data.rows.filter((row) => isShown(row.policy));
  if (state.sort === null) return rows;
  const key = (row) => row.cells[state.sort][0];
  // Unknown values stay last in both orders.
  return rows.sort((a, b) => key(a) === null ? 1 : key(b) === null ? -1 : (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (state.descending ? -1 : 1));
}

function sortBy(n) {
  state.descending = state.sort === n ? !state.descending : n > 0;
  state.sort = n;
  keep();
  drawTable();
}

function drawTable() {
  rebuild($("table"), "button", buildTable);
}

function buildTable() {
  headed($("table"), data.columns.map(() => ""), []);
  const heads = $("table").querySelectorAll("th"), body = $("table").querySelector("tbody");
  for (const [n, column] of data.columns.entries()) {
    const button = el("button", column.title);
    button.type = "button";
    button.title = column.about;
    button.addEventListener("click", () => sortBy(n));
    heads[n].append(button);
    if (state.sort === n) heads[n].setAttribute("aria-sort", state.descending ? "descending" : "ascending");
  }
  body.append(...sortedRows().map(policyRow));
}

// A label that breaks between parameters, or after a long name, but not within a number.
function breakable(label) {
  const box = el("span", undefined, "label");
  for (const part of label.split(/(?<=[,:+;/]|[^,:+;/]{16}=)/)) box.append(part, el("wbr"));
  return box;
}

function policyRow(row) {
  const n = row.policy, tr = el("tr", undefined, [isBound(n) && "bound", n === data.chosen && "chosen", n === state.policy && "selected"].filter(Boolean).join(" "));
  const swatch = el("span", undefined, "swatch"), name = el("button", undefined, "name"), first = el("td");
  tr.addEventListener("click", () => pickPolicy(n));
  name.type = "button";
  name.setAttribute("aria-pressed", String(n === state.policy));
  swatch.style.background = colour(n);
  name.append(swatch, breakable((n === data.chosen ? "▶ " : "") + row.cells[0][1]));
  first.append(name);
  tr.append(first, ...row.cells.slice(1).map(([, text], at) => el("td", text, row.bad && data.columns[at + 1].title === "refused" ? "bad" : "")));
  return tr;
}

// Recorded compactions, shown only if the run's folder has their table.
function drawCompactions() {
  const told = data.compactions;
  $("recorded-section").hidden = $("recorded-link").hidden = !told;
  if (!told) return;
  headed($("compactions"), told.columns, told.rows);
  $("recorded-note").textContent = told.legend;
  $("recorded-means").replaceChildren(...told.means.map((line) => el("li", line)));
}

const EDIT_COLUMNS = ["call", "to call", "moment", "item", "action", "tokens before", "tokens after", "reason"];
const MOST_SHOWN = 500;

function drawAudit() {
  const edits = opened.edits[state.policy] || [], all = edits.length + (opened.more[state.policy] || 0);
  headed($("trail"), EDIT_COLUMNS, edits.slice(0, MOST_SHOWN).map((edit) => (
    [edit.call, edit.through, edit.moment, edit.item, edit.action, edit.before.toLocaleString("en"), edit.after.toLocaleString("en"), edit.reason])));
  $("trail").parentNode.hidden = $("csv-edits").hidden = !all;
  const first = all > edits.length ? `; the CSV has the first ${edits.length.toLocaleString("en")}, events.parquet all` : "";
  $("audit-note").textContent = all ? `${many(all, "edit")}${all > MOST_SHOWN ? `, the first ${MOST_SHOWN} shown` : ""}${first}.` : "This policy edited nothing.";
}

const CSVS = {
  policies: () => [data.columns.map((column) => column.title), ...sortedRows().map((row) => row.cells.map(([, text]) => text))],
  edits: () => [EDIT_COLUMNS, ...(opened.edits[state.policy] || []).map((edit) => [edit.call, edit.through, edit.moment, edit.item, edit.action, edit.before, edit.after, edit.reason])],
  calls: () => [["policy", "call", "status", "sent", "estimated", "cache read", "cache write", "uncached"], ...layered(Object.keys(opened.calls)).flatMap((n) => {
    const calls = opened.calls[n];
    return calls.sent.map((sent, i) => [data.policies[n].label, i + 1, calls.status[i], sent, calls.estimated[i], calls.read[i], calls.write[i], calls.uncached[i]]);
  })],
  compactions: () => [data.compactions.columns, ...data.compactions.rows],
};
