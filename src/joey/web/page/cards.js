// The card of a tool call: it fills in while the arguments stream, shows live output, and then the result.

import { AnsiText, output } from "./ansi.js";
import { button, el, icon, imageOf, visible } from "./dom.js";
import { renderDiff } from "./diff.js";
import { highlight, languageOf } from "./highlight.js";

const STATES = {
  writing: "is being written", ready: "", waiting: "waits for you", running: "running", done: "done",
  failed: "failed", denied: "denied", interrupted: "interrupted",
};
const LONG = 200;

function flat(value, path = []) {
  if (value !== null && typeof value === "object") {
    return Object.entries(value).flatMap(([name, each]) => flat(each, [...path, name]));
  }
  return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
}

export class Card {
  constructor(name, display, callId, view) {
    this.name = name;
    this.display = display || { subject: [], role: "call", kind: "other" };
    this.callId = callId;
    this.view = view;
    this.fields = new Map();
    this.subject = el("span", { class: "subject" });
    this.state = el("span", { class: "state" });
    this.fieldsNode = el("div", { class: "fields" });
    this.outputNode = null;
    this.resultNode = el("div", { class: "result" });
    this.below = el("div", { class: "below" });
    this.summary = el("summary", {}, icon(this.display.kind), el("span", { class: "tool-name" }, name), this.subject, this.state);
    this.details = el("details", { class: "card" }, this.summary, el("div", { class: "card-body" }, this.fieldsNode, this.resultNode));
    this.node = el("div", { class: "call" }, this.details, this.below);
    this.set("writing");
  }

  set(state) {
    this.now = state;
    this.node.dataset.state = state;
    this.state.textContent = STATES[state] ?? "";
    if (state === "waiting") this.details.open = false; // the request shows all of it
  }

  // Arguments

  grow(path, text, literal) {
    const name = path.join(".");
    if (!name) return;
    text = visible(text);
    let field = this.fields.get(name);
    if (!field) {
      field = { text: document.createTextNode(""), node: null, pieces: [] };
      const value = el("pre", { class: "value", tabindex: "0" }, el("code", {}, field.text));
      field.node = el("div", { class: "field" }, el("span", { class: "name" }, name), value);
      this.fields.set(name, field);
      this.fieldsNode.append(field.node);
    }
    if (literal) field.pieces = [];
    field.pieces.push(text);
    if (literal) field.text.data = text;
    else field.text.appendData(text);
    this.about(path, field);
    if (field.text.length > LONG) this.details.open = this.view.opens;
  }

  about(path, field) {
    const names = this.display.subject;
    const last = path[path.length - 1];
    const fits = names.length ? names.includes(last) : this.fields.size === 1;
    if (fits && field.text.length < 400) this.subject.textContent = field.text.data.replace(/\s+/g, " ").slice(0, 200);
  }

  finish(args) {
    if (this.now === "writing") this.set("ready");
    const known = [...this.fields.values()].reduce((sum, field) => sum + field.text.length, 0);
    if (!known) for (const [path, text] of flat(args ?? {})) this.grow(path, text, true);
    const path = typeof args?.path === "string" ? args.path : "";
    for (const [name, field] of this.fields) {
      if (path && field.text.length > LONG && /text|content/.test(name)) {
        field.text.parentNode.replaceChildren(highlight(field.text.data, languageOf(path)));
      }
    }
  }

  malformed(message, source) {
    this.set("failed");
    this.resultNode.append(el("p", { class: "error" }, message), source ? output(source) : "");
    this.details.open = true;
  }

  // What became of it

  run(summary) {
    this.set("running");
    if (summary) this.subject.textContent = visible(summary).replace(/\s+/g, " ").slice(0, 200);
  }

  progress(text) {
    if (!this.outputNode) {
      const node = el("pre", { class: "output live", tabindex: "0" });
      this.outputNode = { node, ansi: new AnsiText(node) };
      this.resultNode.append(node);
      this.details.open = this.view.opens;
    }
    const { node, ansi } = this.outputNode;
    const below = node.scrollHeight - node.scrollTop - node.clientHeight < 40;
    ansi.push(text);
    if (below) node.scrollTop = node.scrollHeight;
  }

  answered(approved, comment) {
    if (!approved) this.set("denied");
    if (comment) this.below.append(el("p", { class: "comment" }, comment));
  }

  result(result) {
    const exit = result.exit;
    const bad = result.is_error || (exit && exit.code !== 0);
    if (this.now !== "denied") this.set(bad ? "failed" : "done");
    if (exit && exit.code !== 0) this.state.textContent = exit.signal ? `signal ${exit.signal}` : `exit code ${exit.code}`;
    const diffs = result.shown.filter((each) => each.type === "shown_diff");
    const parts = (result.shown.length ? result.shown : result.content).map((each) => this.part(each));
    const said = result.is_error && result.shown.length ? result.content.map((each) => this.part(each)) : [];
    this.resultNode.replaceChildren(...said, ...parts);
    if (diffs.length) {
      this.fieldsNode.hidden = true;
      this.below.append(...this.resultNode.children);
      this.details.classList.add("has-diff");
      this.details.open = false;
    } else if (result.shown.some((each) => each.type === "shown_image")) this.details.open = true;
    else if (this.view.opens && !bad && !this.outputNode) this.details.open = false;
  }

  part(each) {
    if (each.type === "shown_diff") return renderDiff(each.path, each.diff, each.cut);
    if (each.type === "shown_image" || each.type === "image") return imageOf(each);
    const node = el("div", {}, output(each.text || ""));
    if (each.cut) {
      const whole = () => this.view.loadResult && this.view.loadResult(this.callId).then((result) => this.result(result));
      const words = `… ${each.cut.toLocaleString()} more characters …`;
      node.append(this.view.loadResult ? button(words, whole, { class: "quiet small" }) : el("p", { class: "note" }, words), output(each.end || ""));
    }
    return node;
  }

  interrupt() {
    if (["writing", "running", "waiting"].includes(this.now)) this.set("interrupted");
  }
}
