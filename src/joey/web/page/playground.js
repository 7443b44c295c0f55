// The parsers made visible: paste a reply, choose a protocol, and move through the stream.

import { attempt } from "./dialogs.js";
import { button, el, pageHead } from "./dom.js";
import { post } from "./api.js";

const EXAMPLES = {
  hermes: 'I will read it.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "src/app.py"}}\n</tool_call>',
  xml: "Let me write it.\n<write_to_file>\n<path>hello.py</path>\n<file_text>\nprint(\"hello\")\n</file_text>\n</write_to_file>",
  "qwen3-coder": "<tool_call>\n<function=execute_command>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
};

export class Playground {
  constructor(app) {
    this.app = app;
    const names = app.meta.protocols;
    this.text = el("textarea", { class: "source", rows: "10", spellcheck: "false", "aria-label": "The reply of a model", placeholder: "Paste a model’s raw reply, JSON chunks, or a recording of a stream (data: …)" });
    this.text.value = EXAMPLES.hermes;
    this.protocol = el("select", { "aria-label": "Protocol" }, names.map((each) => el("option", { value: each }, each)));
    this.tools = el("textarea", { rows: "3", spellcheck: "false", "aria-label": "Tools", placeholder: "The tools that were offered, as a JSON array; Joey’s own if empty" });
    this.slider = el("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Position in the stream" });
    this.slider.addEventListener("input", () => this.draw());
    this.position = el("span", { class: "about" });
    this.seen = el("pre", { class: "code stream", tabindex: "0" });
    this.events = el("ol", { class: "events", tabindex: "0", "aria-label": "Events" });
    this.calls = el("div", { class: "calls" });
    const examples = Object.keys(EXAMPLES).map((name) => button(name, () => { this.text.value = EXAMPLES[name]; this.protocol.value = names.includes(name) ? name : "auto"; this.parse(); }, { class: "quiet small" }));
    this.node = el("div", { class: "page playground" },
      pageHead("Playground", "How a reply is read, piece by piece"),
      el("div", { class: "page-body" }, this.text,
        el("div", { class: "bar-row" }, this.protocol, button("Parse", () => this.parse(), { class: "primary" }), el("span", { class: "about" }, "Examples:"), examples),
        el("details", {}, el("summary", {}, "Tools"), this.tools),
        el("div", { class: "bar-row" }, this.slider, this.position),
        el("div", { class: "columns" }, el("section", {}, el("h2", {}, "Stream"), this.seen), el("section", {}, el("h2", {}, "Events"), this.events), el("section", {}, el("h2", {}, "Calls"), this.calls))));
  }

  async load() { document.title = "Playground · Joey"; await this.parse(); }

  async parse() {
    let tools;
    try {
      tools = this.tools.value.trim() ? JSON.parse(this.tools.value) : undefined;
    } catch {
      return attempt(() => { throw new Error("The tools are not JSON."); });
    }
    const source = this.text.value;
    const found = await attempt(() => post("/parse", { text: source, protocol: this.protocol.value, tools, size: 1 }));
    if (!found) return undefined;
    this.source = source;
    this.found = found;
    this.slider.max = String(found.length);
    this.slider.value = String(found.length);
    this.draw();
    return undefined;
  }

  draw() {
    const at = Number(this.slider.value);
    const steps = this.found.steps.filter((step) => step.end <= at);
    const events = steps.flatMap((step) => step.events);
    this.position.textContent = `${at} of ${this.found.length} characters · ${this.found.protocol}`;
    this.seen.replaceChildren(el("span", {}, this.source.slice(0, at)), el("span", { class: "rest" }, this.source.slice(at)));
    const shown = events.slice(-300).map((event) => {
      const { type, raw, source, ...rest } = event;
      const bad = type === "tool_call_malformed";
      const words = Object.entries(rest).filter(([, value]) => value !== "" && value !== null && value !== false && !(Array.isArray(value) && !value.length)).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("  ");
      return el("li", { class: bad ? "bad" : type.startsWith("tool") ? "tool" : "" }, el("b", {}, type), " ", words);
    });
    this.events.replaceChildren(...shown);
    this.events.scrollTop = this.events.scrollHeight;
    this.calls.replaceChildren(...this.argumentsSoFar(events));
  }

  argumentsSoFar(events) {
    const calls = new Map();
    for (const event of events) {
      if (event.type === "tool_call_started") calls.set(event.call_id, { name: event.name, args: {}, state: "…" });
      const call = calls.get(event.call_id);
      if (event.type === "tool_call_delta" && event.path.length) {
        const name = event.path.join(".");
        call.args[name] = (event.literal ? "" : call.args[name] ?? "") + event.text;
      } else if (event.type === "tool_call_finished") Object.assign(call, { whole: event.arguments, state: event.repairs.length ? `repaired: ${event.repairs.join("; ")}` : "complete" });
      else if (event.type === "tool_call_malformed") calls.set(event.call_id, { name: event.name ?? "?", args: {}, state: event.message, bad: true });
    }
    if (!calls.size) return [el("p", { class: "note" }, "No call so far.")];
    return [...calls.values()].map((call) => el("div", { class: call.bad ? "found bad" : "found" }, el("b", {}, call.name), el("span", { class: "about" }, call.state), el("pre", { class: "code", tabindex: "0" }, JSON.stringify(call.whole ?? call.args, null, 2))));
  }

  key() { return false; }
  close() {}
}
