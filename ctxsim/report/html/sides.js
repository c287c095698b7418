// One call as recorded and as sent, item by item beside each other, in one box that scrolls both.

const SAID = { kept: "kept", dropped: "dropped", summarised: "summarised", summary: "made by the policy" };
const FEW = 12, NEAR = 2, MOST_PAIRS = 120;
const unfolded = new Set();

// What an edit left: `cut` still begins or ends as the recorded text does, `cleared` shares nothing with it.
function sayOf(row, span) {
  if (span.state !== "edited") return SAID[span.state];
  const [before, , after] = shared(row.text, span.edit.text);
  return before.length + after.length >= 10 ? "cut" : "cleared";
}

// The common start of two texts, where they differ, and their common end: [start, [was, now], end].
function shared(was, now) {
  const most = Math.min(was.length, now.length);
  let start = 0, end = 0;
  while (start < most && was[start] === now[start]) start += 1;
  while (end < most - start && was[was.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  return [was.slice(0, start), [was.slice(start, was.length - end), now.slice(start, now.length - end)], end ? was.slice(-end) : ""];
}

function textBox(side, parts, className) {
  const box = el("div", undefined, "side " + className);
  box.append(el("span", side, "which"));
  const pre = el("pre");
  pre.append(...parts.filter((part) => part !== "" && part !== undefined));
  box.append(pre);
  return box;
}

function pairOf(row, span, call) {
  const chosen = state.cell.item === row.item, said = sayOf(row, span), pair = el("div", undefined, ["pair", said.split(" ")[0], chosen && "chosen"].filter(Boolean).join(" "));
  const head = el("button", undefined, "told"), now = tokensAt(row, span);
  head.type = "button";
  head.append(el("b", `item ${row.item}`), ` ${called(row)} `, el("span", said, "badge"), ` ${row.made && !gone(span) ? "" : row.tokens.toLocaleString("en")}${row.made || now !== row.tokens ? ` → ${now.toLocaleString("en")}` : ""} tokens`);
  if (span.edit) head.append(` · call ${span.edit.call}, ${span.edit.moment}: ${span.edit.reason}`);
  if (row.used.includes(call)) head.append(" ", el("span", isLost(row, call) ? "this call needed something of it that is gone" : "this call uses it", isLost(row, call) ? "lost" : "used"));
  head.addEventListener("click", () => choose({ call, item: row.item }));
  pair.append(head);
  const was = row.made ? note(`nothing: a summary of ${many(row.sources, "item")}`) : row.text;
  if (gone(span)) pair.append(textBox("as recorded", [was], "was"), textBox("as sent", [note(span.state === "summarised" ? `not sent: the summary, item ${standsFor(row, call)}, stands for it` : "not sent")], "now"));
  else if (row.made) pair.append(textBox("as recorded", [was], "was"), textBox("as sent", [span.edit ? span.edit.text : row.text], "now"));
  else if (span.edit) {
    const [before, [was, then], after] = shared(row.text, span.edit.text);
    pair.append(textBox("as recorded", [before, was && el("del", was), after], "was"), textBox("as sent", [before, then && el("ins", then), after], "now"));
  } else pair.append(textBox("as recorded", [row.text], "was"), textBox("as sent", [row.text], "now"));
  return pair;
}

// The summary that stands for an item at a call. A summary may have been summarised itself.
function standsFor(row, call) {
  const into = grid.rows[grid.at.get(row.into.item)], span = spanAt(into, call);
  return span && span.state === "summarised" && into.into ? standsFor(into, call) : into.item;
}

const note = (text) => el("i", text);

// Which of a call's items are shown: what the policy changed, the chosen one, and neighbours; the others fold.
function pairsShown(found, onlyChanged) {
  if (!onlyChanged && found.length <= FEW) return new Set(found.keys());
  const wanted = new Set(), near = onlyChanged ? 0 : NEAR;
  found.forEach(({ row, span }, n) => {
    if (row.item === state.cell.item || span.state !== "kept") for (let one = n - near; one <= n + near; one += 1) wanted.add(one);
  });
  if (wanted.size <= MOST_PAIRS) return wanted;
  const middle = Math.max(0, found.findIndex(({ row }) => row.item === state.cell.item));
  return new Set([...wanted].sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle)).slice(0, MOST_PAIRS));
}

function foldOf(part, call) {
  const tokens = part.reduce((sum, { row }) => sum + row.tokens, 0), kept = part.every(({ span }) => span.state === "kept");
  const button = el("button", `${many(part.length, "item")} ${kept ? "kept as recorded" : "more"}, ${compact(tokens)} tokens: show`, "fold");
  button.type = "button";
  button.addEventListener("click", () => { part.forEach(({ row }) => unfolded.add(row.item)); drawSides(); });
  return button;
}

function drawSides() {
  const call = state.cell.call, calls = opened.calls[state.policy], box = $("sides");
  if (!calls) {
    box.replaceChildren();
    $("cell").textContent = "This policy has no calls here: it could not be replayed.";
    return;
  }
  const found = grid.rows.map((row) => ({ row, span: spanAt(row, call) })).filter(({ span }) => span);
  const shown = pairsShown(found, $("changed").checked), counts = {};
  for (const { row, span } of found.filter(({ row }) => !row.made)) counts[sayOf(row, span)] = (counts[sayOf(row, span)] || 0) + 1;
  const nodes = [];
  let fold = [];
  const close = () => {
    if (fold.length > 1) nodes.push(foldOf(fold, call));
    else nodes.push(...fold.map(({ row, span }) => pairOf(row, span, call)));
    fold = [];
  };
  found.forEach((one, n) => {
    if (!shown.has(n) && !unfolded.has(one.row.item)) { fold.push(one); return; }
    close();
    nodes.push(pairOf(one.row, one.span, call));
  });
  close();
  rebuild(box, "button", () => box.replaceChildren(...nodes));
  const status = calls.status[call - 1], refused = status === "ok" ? "" : ` The provider would refuse it: ${status.replace("_", " ")}.`;
  const held = opened.edits[state.policy] || [], cut = opened.more[state.policy] && call > held[held.length - 1].call;
  const untold = cut ? ` The page holds this policy's first ${held.length.toLocaleString("en")} edits, so what it did at this call may not show; events.parquet has all.` : "";
  $("cell").textContent = `Call ${call} of ${grid.total} under ${data.policies[state.policy].shown}: ${calls.sent[call - 1].toLocaleString("en")} tokens sent; ${many(found.filter(({ row }) => !row.made).length, "recorded item")}: ` +
    Object.entries(counts).map(([said, n]) => `${n.toLocaleString("en")} ${said}`).join(", ") + "." + refused + untold;
  const chosen = box.querySelector(".chosen");
  box.scrollTop = chosen ? Math.max(0, chosen.offsetTop - box.clientHeight / 4) : 0;
}

function listenToSides() {
  const go = (call) => choose({ call, item: state.cell.item }, true);
  $("changed").addEventListener("change", drawSides);
  $("call").addEventListener("change", () => go(Math.round(Number($("call").value)) || 1));
  $("earlier").addEventListener("click", () => go(state.cell.call - 1));
  $("later").addEventListener("click", () => go(state.cell.call + 1));
}
