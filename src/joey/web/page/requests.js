// What waits for the user, with everything they need to decide. Words that are being typed are never an answer: keys
// count only while no field has the focus, and only when the request has been there for a moment.

import { output } from "./ansi.js";
import { button, el, imageOf } from "./dom.js";
import { renderDiff } from "./diff.js";
import { inline, renderMarkdown } from "./markdown.js";

const QUIET = 700;
const PROFILES = {
  __proto__: null, ask: "Ask before changes and commands", strict: "Ask before reading, too", edits: "Change files without asking",
  auto: "Work alone, in the sandbox", "read-only": "Only read", plan: "Plan first", all: "Never ask",
};

export function profileName(profile) {
  return PROFILES[profile] || profile || "As in the settings";
}

function shownPart(each) {
  if (each.type === "shown_diff") return renderDiff(each.path, each.diff);
  return each.type === "shown_image" ? imageOf(each) : output(each.text);
}

function argumentsOf(request) {
  const rows = Object.entries(request.arguments ?? {}).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return el("div", { class: "field" }, el("span", { class: "name" }, name), el("pre", { class: "value", tabindex: "0" }, text));
  });
  return el("div", { class: "fields" }, rows);
}

// `answer(fields)` sends an answer to this request.
export class RequestPanel {
  constructor(request, answer, profiles, ofSubtask) {
    this.request = request;
    this.ofSubtask = ofSubtask;
    this.answer = answer;
    this.profiles = profiles || [];
    this.since = performance.now();
    this.keys = new Map();
    this.node = el("section", { class: "request", tabindex: "-1", "aria-label": "Joey waits for you" });
    this.field = el("textarea", { rows: "1", class: "comment-field" });
    this[request.type]?.();
  }

  give(fields) {
    for (const each of this.node.querySelectorAll("button")) each.disabled = true;
    Promise.resolve(this.answer({ request_id: this.request.request_id, ...fields })).catch(() => {
      for (const each of this.node.querySelectorAll("button")) each.disabled = false;
    });
  }

  choice(label, key, fields, kind = "") {
    if (key) this.keys.set(key, fields);
    return el("button", { type: "button", class: kind, onclick: () => this.give(fields()) }, label, key ? el("kbd", { "aria-hidden": "true" }, key) : null);
  }

  // Whether the key was an answer.
  press(key) {
    const fields = this.keys.get(key);
    if (!fields || performance.now() - this.since < QUIET) return false;
    this.give(fields());
    return true;
  }

  approval_requested() {
    const { name, reason, shown, always, scopes, arguments: args } = this.request;
    const words = () => this.field.value.trim();
    this.field.placeholder = "A comment for Joey, with yes or no";
    this.field.setAttribute("aria-label", "Comment");
    const inProject = (scopes ?? ["task", "project"]).includes("project"); // else it is a subtask in a worktree
    const whole = shown.some((each) => each.type === "shown_diff")
      ? [...shown.map(shownPart), el("details", { class: "all" }, el("summary", {}, "All arguments"), argumentsOf(this.request))]
      : [argumentsOf(this.request), ...shown.map(shownPart)];
    const lasting = always.length ? el("details", { class: "always" },
      el("summary", {}, "Don’t ask again…"),
      el("p", {}, "Allow from now on:"), el("ul", {}, always.map((each) => el("li", {}, each))),
      el("div", { class: "buttons" },
        this.choice(inProject ? "In this task" : "In this subtask", "", () => ({ yes: true, text: words(), always: true, scope: "task" })),
        inProject ? this.choice("In this project", "", () => ({ yes: true, text: words(), always: true, scope: "project" })) : null)) : null;
    const command = typeof args?.command === "string" && !shown.some((each) => each.type === "shown_diff");
    this.node.append(
      el("h2", {}, "Approval required: ", el("code", {}, name)), el("p", { class: "reason" }, inline(reason)),
      el("div", { class: command ? "whole command" : "whole" }, whole),
      el("div", { class: "answers" }, this.field, el("div", { class: "buttons" },
        this.choice("Yes", "y", () => ({ yes: true, text: words() }), "primary"),
        this.choice("No", "n", () => ({ yes: false, text: words() }), "danger"), lasting)));
  }

  question_requested() {
    const { question, suggestions } = this.request;
    this.field.placeholder = "Your own answer";
    this.field.setAttribute("aria-label", "Your own answer");
    const own = () => this.field.value.trim() && this.give({ yes: true, text: this.field.value.trim() });
    this.onSend = own;
    const picks = suggestions.map((each, at) => this.choice(each.mode ? `${each.text} (${each.mode})` : each.text, at < 9 ? String(at + 1) : "", () => ({ yes: true, text: each.text }), "suggestion"));
    this.node.append(el("h2", {}, "Question"), renderMarkdown(question), el("div", { class: "suggestions" }, picks),
      el("div", { class: "answers" }, this.field, button("Answer", own, { class: "primary" })));
  }

  continue_requested() {
    this.field.placeholder = "A hint for the model";
    this.field.setAttribute("aria-label", "A hint for the model");
    const words = () => this.field.value.trim();
    this.node.append(el("h2", {}, "Continue?"), el("p", { class: "reason" }, inline(this.request.reason)),
      el("div", { class: "answers" }, this.field, el("div", { class: "buttons" },
        this.choice("Continue", "y", () => ({ yes: true, text: words() }), "primary"), this.choice("Stop", "n", () => ({ yes: false })))));
  }

  completion_requested() {
    if (!this.request.plan) { this.result(); return; }
    const picks = this.profiles.filter((each) => each !== "plan").map((each) => this.choice(profileName(each), "", () => ({ yes: true, profile: each }), each === "ask" ? "primary" : ""));
    this.node.append(el("h2", {}, "Carry out this plan?"), el("p", { class: "reason" }, "Choose what Joey may do without asking, or write below what to change in the plan. With No, nothing is carried out."),
      el("div", { class: "buttons" }, picks, this.choice("No", "n", () => ({ yes: false }), "danger")));
  }

  result() {
    if (!this.ofSubtask) {
      this.node.classList.add("done");
      this.node.append(el("p", { class: "reason" }, "Joey is done. Write what to do next, or"), this.choice("Accept", "y", () => ({ yes: true })));
      return;
    }
    this.field.placeholder = "What the subtask should do differently";
    this.field.setAttribute("aria-label", "What the subtask should do differently");
    const back = () => this.field.value.trim() && this.give({ text: this.field.value.trim() });
    this.onSend = back;
    this.node.append(el("h2", {}, "The subtask is done"), renderMarkdown(this.request.result), el("div", { class: "answers" }, this.field,
      el("div", { class: "buttons" }, this.choice("Accept", "y", () => ({ yes: true }), "primary"), button("Send back", back))));
  }

  get isEmpty() { return !this.node.childElementCount; }
}
