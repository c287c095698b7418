// @ts-check
// The built-in policy `fifo` in TypeScript: while the estimate is over a budget, the oldest response leaves with its
// results. Types stand in comments, so that every Node runs it as it is: no build, no flag.
//     ctxsim bench LOGS --policy 'pipe:node docs/examples/fifo.ts 40000'

/** @typedef {{ id: string, role: string, content: string, reasoning?: string,
 *              media?: { tokens: number }[],
 *              tool_calls?: { id: string, function: { name: string, arguments: string } }[] }} Message */

const budget = Number(process.argv[2] ?? 40000);

/** Tokens of a text as ctxsim's default estimator guesses them. @param {string} text */
const tokens = (text) => Math.ceil([...text].length / 4);

/** @param {Message} message */
function size(message) {
  let sum = tokens(message.content) + tokens(message.reasoning ?? "");
  for (const call of message.tool_calls ?? []) {
    sum += tokens(call.function.name) + tokens(call.function.arguments);
  }
  for (const media of message.media ?? []) {
    sum += media.tokens;
  }
  return sum;
}

/** @type {Message[]} */
let messages = [];

/** The conversation as a response with its results, or one message. @returns {Message[][]} */
function exchanges() {
  /** @type {Message[][]} */
  const found = [];
  for (const message of messages) {
    if (message.role === "tool" && found.length > 0) {
      found[found.length - 1].push(message);
    } else {
      found.push([message]);
    }
  }
  return found;
}

/** @param {{ moment: string, estimate: number, new: Message[], changed?: Message[], gone?: string[] }} asked */
function answer(asked) {
  if (asked.moment === "start") {
    messages = [];
    return { ctxsim: 1, moments: ["before_call"] };
  }
  // Beside another policy, messages that are known may change or go.
  const changed = new Map((asked.changed ?? []).map((message) => [message.id, message]));
  const gone = new Set(asked.gone ?? []);
  messages = messages.filter(({ id }) => !gone.has(id)).map((message) => changed.get(message.id) ?? message);
  messages.push(...asked.new);
  let excess = asked.estimate - budget;
  /** @type {Record<string, null>} */
  const change = {};
  for (const exchange of exchanges().slice(0, -1)) {
    if (excess > 0 && exchange[0].role !== "user") {
      for (const message of exchange) {
        change[message.id] = null;
        excess -= size(message);
      }
    }
  }
  if (Object.keys(change).length === 0) {
    return { unchanged: true };
  }
  messages = messages.filter((message) => !(message.id in change));
  return { change };
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (/** @type {string} */ line) => console.log(JSON.stringify(answer(JSON.parse(line)))));
