"use strict";
// The page's data, its state (what is shown and chosen), and the address that holds the state.
// Text of transcripts only ever enters the page through textContent and canvas; Plotly gets policy labels and numbers.
const $ = (id) => document.getElementById(id);
const el = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const compact = (n) => n >= 1e6 ? (n / 1e6).toFixed(2) + "M" : n >= 1e4 ? (n / 1e3).toFixed(1) + "K" : Math.round(n).toLocaleString("en");
const many = (n, one, several) => `${n.toLocaleString("en")} ${n === 1 ? one : several || one + "s"}`;

// Rebuilds a part of the page and keeps the keyboard focus in it.
function rebuild(box, selector, build) {
  const at = [...box.querySelectorAll(selector)].indexOf(document.activeElement);
  build();
  if (at >= 0) box.querySelectorAll(selector)[at]?.focus({ preventScroll: true });
}

const data = JSON.parse($("data").textContent);
const state = {
  transcript: 0, policy: 0, axis: "tokens", sort: null, descending: false, cell: null, shown: new Set(data.policies.keys()),
};
let opened = null;

// A transcript is packed in the page: JSON, compressed by zlib, in base 64. It is unpacked when it is shown.
async function unpack(n) {
  const bytes = Uint8Array.from(atob($("part-" + n).textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const part = JSON.parse(await new Response(stream).text());
  for (const [policy, edits] of Object.entries(part.edits)) {
    part.edits[policy] = edits.map(([call, moment, item, action, before, after, reason, sources, text, through]) => (
      { call, through, moment: part.strings[moment], item, action: part.strings[action], before, after, reason: part.strings[reason], sources: part.strings[sources], text: part.strings[text] }));
  }
  return part;
}

// The state is in the address, so that a link to it can be sent.
function keep() {
  const words = new URLSearchParams({ transcript: state.transcript, policy: state.policy, axis: state.axis });
  if (state.shown.size < data.policies.length) words.set("only", [...state.shown].sort((a, b) => a - b).join("."));
  if (state.sort !== null) words.set("sort", (state.descending ? "-" : "") + state.sort);
  if (state.cell) {
    words.set("call", state.cell.call);
    words.set("item", state.cell.item);
  }
  history.replaceState(null, "", "#" + words);
}

function restore() {
  const words = new URLSearchParams(location.hash.slice(1)), number = (name, least, most) => {
    const value = Number(words.get(name));
    return words.has(name) && Number.isInteger(value) && value >= least && value < most ? value : null;
  };
  state.transcript = number("transcript", 0, data.transcripts.length) ?? 0;
  state.policy = number("policy", 0, data.policies.length) ?? data.start;
  if (data.tradeoff[words.get("axis")]) state.axis = words.get("axis");
  const only = (words.get("only") || "").split(".").filter(Boolean).map(Number).filter((n) => n in data.policies);
  if (only.length) state.shown = new Set(only);
  const sort = /^(-?)(\d+)$/.exec(words.get("sort") || "");
  if (sort && data.columns[sort[2]]) [state.sort, state.descending] = [Number(sort[2]), sort[1] === "-"];
  const call = number("call", 1, Infinity), item = number("item", -Infinity, Infinity);
  state.cell = call === null ? null : { call, item };
}

// Files to keep

function save(name, blob) {
  const link = el("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell with untrusted text must not begin like a formula of a spreadsheet: https://owasp.org/www-community/attacks/CSV_Injection
function csvOf(lines) {
  const guard = (cell) => typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) && !/^(-|[+-][\d.,]+%?( to [+-]?[\d.,]+%?)?)$/.test(cell) ? "'" + cell : String(cell);
  return lines.map((cells) => cells.map((cell) => `"${guard(cell).replace(/"/g, '""')}"`).join(",") + "\n").join("");
}
