// Frameworks in JavaScript over conversations: for each line of input, what each request would hold, as a line.
// node javascript.mjs NAME NODE_MODULES
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";

const [name, modules] = process.argv.slice(2);
const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 8);
const row = (role, text, ...ids) => [role, [...text].length, digest(text), ...ids];

const drivers = {
  async "vercel-prune"() {
    const { pruneMessages } = await import(`${modules}/ai/dist/index.js`);
    const there = (one) => {
      if (one.role === "user") return { role: "user", content: one.content };
      if (one.role === "tool") {
        const output = { type: "text", value: one.content };
        return { role: "tool", content: [{ type: "tool-result", toolCallId: one.tool_call_id, toolName: one.name, output }] };
      }
      const content = one.content ? [{ type: "text", text: one.content }] : [];
      for (const call of one.tool_calls ?? []) {
        const input = JSON.parse(call.function.arguments);
        content.push({ type: "tool-call", toolCallId: call.id, toolName: call.function.name, input });
      }
      return { role: "assistant", content };
    };
    const rows = (message) => {
      if (message.role === "user") return [row("user", message.content)];
      if (message.role === "tool") return message.content.map((part) => row("tool", part.output.value, part.toolCallId));
      const calls = message.content.filter((part) => part.type === "tool-call").map((part) => part.toolCallId);
      const text = message.content.filter((part) => part.type === "text").map((part) => part.text).join("");
      return [row("assistant", text, ...(calls.length ? [calls] : []))];
    };
    return (conversation) => {
      let [known, kept] = [0, []];
      return conversation.calls.map(({ n }) => {
        for (const one of conversation.messages.slice(known, n)) {
          const made = there(one);
          if (made.role === "tool" && kept.at(-1)?.role === "tool") kept.at(-1).content.push(...made.content);
          else kept.push(made);
        }
        known = n;
        kept = pruneMessages({ messages: kept, reasoning: "all", toolCalls: "before-last-3-messages" });
        return kept.flatMap(rows);
      });
    };
  },

  async openclaw() {
    const dist = `${modules}/openclaw/dist`;
    const found = {};
    for (const file of readdirSync(dist).filter((file) => /^compaction-[A-Z].*\.mjs$/.test(file))) {
      for (const one of Object.values(await import(`${dist}/${file}`))) if (typeof one === "function") found[one.name] = one;
    }
    const there = (one) => {
      if (one.role === "user") return { role: "user", content: one.content };
      const content = one.content ? [{ type: "text", text: one.content }] : [];
      if (one.role === "tool") return { role: "toolResult", toolCallId: one.tool_call_id, toolName: one.name, content };
      for (const call of one.tool_calls ?? []) {
        const made = { name: call.function.name, arguments: JSON.parse(call.function.arguments) };
        content.push({ type: "toolCall", id: call.id, ...made });
      }
      return { role: "assistant", content };
    };
    const shown = (message) => {
      if (message.role === "compactionSummary") return row("user", message.summary);
      if (message.role === "user") return row("user", message.content);
      const text = message.content.filter((part) => part.type === "text").map((part) => part.text).join("");
      if (message.role === "toolResult") return row("tool", text, message.toolCallId);
      const calls = message.content.filter((part) => part.type === "toolCall").map((part) => part.id);
      return row("assistant", text, ...(calls.length ? [calls] : []));
    };
    return (conversation) => {
      let [known, entries, sent] = [0, [], []];
      const settings = { enabled: true, reserveTokens: 3_000, keepRecentTokens: 2_000 };
      return conversation.calls.map(({ n }) => {
        const joined = conversation.messages.slice(known, n).map(there);
        known = n;
        for (const message of joined) entries.push({ type: "message", id: `${entries.length}`, message });
        sent.push(...joined);
        const { tokens } = found.estimateContextTokens(sent);
        if (joined.some(({ role }) => role === "user") && found.shouldCompact(tokens, 12_000, settings)) {
          const { ok, value } = found.prepareCompaction(entries, settings);
          if (ok && value) {
            // A turn that is cut has a summary of its own behind the other.
            const parts = [value.messagesToSummarize, value.turnPrefixMessages].filter((part) => part.length);
            const summary = parts.map(() => "SUMMARY").join("\n\n");
            const first = entries.findIndex(({ id }) => id === value.firstKeptEntryId);
            const tail = entries.slice(first).filter(({ type }) => type === "message").map(({ message }) => message);
            const made = { type: "compaction", id: `${entries.length}`, summary, firstKeptEntryId: value.firstKeptEntryId };
            entries.push({ ...made, tokensBefore: tokens, timestamp: new Date(0).toISOString() });
            sent = [{ role: "compactionSummary", summary }, ...tail];
          }
        }
        return sent.map(shown);
      });
    };
  },
};

const drive = await drivers[name]();
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(drive(JSON.parse(line))));
