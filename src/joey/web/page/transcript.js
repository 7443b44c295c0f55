// Events to nodes: one fold, for a task that runs, one that is loaded, and one in a file.

import { Card } from "./cards.js";
import { el, imageOf, money, number, visible } from "./dom.js";
import { MarkdownStream } from "./markdown.js";

const OUTCOMES = {
  completed: "Completed", refused: "Refused", limit: "Stopped at a limit", error: "Failed", cancelled: "Stopped",
};

export class Transcript {
  // `view`: tools (how calls are shown), opens (whether cards open while they grow), loadChild, loadResult.
  constructor(taskId, view, registry = new Map()) {
    this.taskId = taskId;
    this.view = view;
    this.registry = registry;
    this.briefed = registry.size === 0; // the first words of a subtask are the model's
    registry.set(taskId, this);
    this.node = el("div", { class: "transcript" });
    this.cards = new Map();
    this.turn = null;
    this.text = null;
    this.thought = null;
    this.queued = [];
  }

  add(node) {
    (this.turn ?? this.node).append(node);
    return node;
  }

  apply(event) {
    const target = this.registry.get(event.task);
    if (target && target !== this) return target.apply(event);
    const handler = this[event.type];
    if (handler) handler.call(this, event);
    return undefined;
  }

  note(words, kind = "") {
    return this.add(el("p", { class: `note ${kind}` }, words));
  }

  words(text, images = []) {
    if (!text && !images.length) return null;
    const node = el("div", { class: "you" }, el("span", { class: "who" }, this.briefed ? "You" : "Task"), el("div", { class: "md plain" }, text), images.map(imageOf));
    this.turn = null;
    this.briefed = true;
    return this.add(node);
  }

  // The task

  user_words({ text, images }) { this.words(text, images); }
  user_message_queued({ text }) {
    const node = this.words(text);
    if (node) this.queued.push(node);
  }
  user_message_taken_back() { this.queued.pop()?.remove(); }
  turn_started({ number: count }) {
    this.close();
    this.turn = el("section", { class: "turn", "aria-label": `Turn ${count}` });
    this.node.append(this.turn);
  }
  turn_finished({ usage, cost }) {
    const words = [`${number(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)} in`, `${number(usage.output_tokens)} out`, money(cost)];
    this.add(el("p", { class: "usage" }, words.filter(Boolean).join(" · ")));
  }
  retry_scheduled({ reason, seconds }) {
    for (const node of [...(this.turn?.children ?? [])]) node.remove();
    this.text = this.thought = null;
    this.note(`${reason} Trying again${seconds >= 1 ? ` in ${Math.round(seconds)} s` : ""}.`, "warning");
  }
  request_delayed({ seconds }) { this.note(`Waiting ${Math.round(seconds)} s: the provider allows no more for now.`); }
  model_changed({ model, reason }) {
    this.note(`Continues with ${model}: ${reason}`, "warning");
    const who = this.label?.parentNode.querySelector(".who");
    if (who) who.textContent = subtaskName(this.mode, model);
  }
  mode_changed({ mode }) { this.note(`Mode: ${mode}`); }
  profile_changed({ profile }) { this.note(`Approvals: ${profile || "as in the settings"}`); }
  context_shortened({ hidden_messages: hidden, summary }) {
    const words = hidden ? `${hidden} old messages are no longer sent` : "Old results are sent in part";
    this.note(summary ? `${words}; a summary stands for them.` : `${words}.`);
  }
  context_kept({ reason }) { this.note(reason); }
  sandbox_reported({ level, message }) { if (level !== "full") this.note(message, level === "off" ? "" : "warning"); }
  command_left_running({ command }) { this.note(`A command of an earlier run may still run: ${command}`, "warning"); }
  files_left_behind({ message }) { this.note(message, "warning"); }
  task_aborted({ reason }) { this.close(); this.stopped = reason; if (reason) this.note(`Stopped: ${reason}`, "warning"); }
  task_finished({ outcome, message }) {
    this.close();
    this.turn = null;
    if (outcome === "completed") this.add(el("p", { class: "end good" }, "Completed"));
    else this.add(el("p", { class: "end bad" }, message && message !== this.stopped ? `${OUTCOMES[outcome]}: ${message}` : OUTCOMES[outcome]));
  }

  // Text

  text_started() { this.text = null; }
  text_delta({ text }) {
    if (!this.text) {
      const node = this.add(el("div", { class: "md" }));
      this.text = new MarkdownStream(node);
    }
    this.text.push(text);
  }
  text_finished() {
    this.text?.end();
    this.text = null;
  }
  reasoning_started() { this.thought = null; }
  reasoning_delta({ text }) {
    if (!this.thought) {
      const node = document.createTextNode("");
      const line = el("span", { class: "first" });
      const details = el("details", { class: "reasoning" }, el("summary", {}, el("span", {}, "Thinking"), line), el("div", { class: "thought" }, node));
      this.add(details);
      this.thought = { node, line };
    }
    this.thought.node.appendData(visible(text));
    if (this.thought.node.length < 400) this.thought.line.textContent = this.thought.node.data.replace(/\s+/g, " ").slice(0, 140);
  }
  reasoning_finished() { this.thought = null; }

  // Calls

  tool_call_started({ call_id: id, name }) {
    this.text_finished();
    const display = Object.hasOwn(this.view.tools, name) ? this.view.tools[name] : undefined; // the name is the model's
    if (display?.role === "result" || display?.role === "question") {
      const body = el("div", { class: "md" });
      const label = display.role === "result" ? "Result" : "Question";
      const node = this.add(el("div", { class: display.role === "result" ? "outcome" : "question" }, el("span", { class: "who" }, label), body));
      this.cards.set(id, { role: display.role, stream: new MarkdownStream(body), grown: false, node });
    } else if (display?.role === "todos") this.cards.set(id, { role: "todos" });
    else {
      const card = new Card(name, display, id, this.view);
      this.cards.set(id, card);
      this.add(card.node);
    }
  }
  tool_call_delta({ call_id: id, path, text, literal }) {
    const card = this.cards.get(id);
    if (card instanceof Card) card.grow(path, text, literal);
    else if (card?.stream && ["result", "question"].includes(path[0])) {
      card.grown = true;
      card.stream.push(text);
    }
  }
  tool_call_finished({ call_id: id, arguments: args }) {
    const card = this.cards.get(id);
    if (card instanceof Card) card.finish(args);
    else if (card?.stream) {
      if (!card.grown) card.stream.push(String(args?.result ?? args?.question ?? ""));
      card.stream.end();
      card.stream = null;
    }
  }
  tool_call_malformed({ call_id: id, name, message, source }) {
    if (!(this.cards.get(id) instanceof Card)) {
      const card = new Card(name || "an unreadable call", null, id, this.view);
      this.cards.set(id, card);
      this.add(card.node);
    }
    this.cards.get(id).malformed(message, source);
  }
  tool_run_started({ call_id: id, summary }) { this.card(id)?.run(summary); }
  tool_run_progressed({ call_id: id, text }) { this.card(id)?.progress(text); }
  tool_run_finished({ call_id: id, result }) {
    const card = this.card(id);
    if (card) card.result(result);
    else if (result.is_error) this.note(result.content.map((each) => each.text || "").join("\n"), "warning");
  }
  card(id) {
    const found = this.cards.get(id);
    return found instanceof Card ? found : null;
  }

  // Requests

  approval_requested({ call_id: id }) { this.card(id)?.set("waiting"); this.asked = id; }
  approval_answered({ approved, comment }) {
    const card = this.card(this.asked);
    if (card?.now === "waiting") card.set("ready");
    card?.answered(approved, comment);
  }
  // While the panel asks it, the question stands only there.
  question_requested() {
    this.question = [...this.cards.values()].reverse().find((each) => each.role === "question")?.node;
    this.question?.classList.add("pending");
  }
  question_answered({ text, images }) {
    this.question?.classList.remove("pending");
    if (text || images?.length) this.words(text, images);
    else this.note("Nobody answered.", "warning");
  }
  completion_answered({ feedback }) { if (feedback) this.words(feedback); }
  continue_requested({ reason }) { this.note(reason, "warning"); }
  continue_answered({ guidance }) { if (guidance) this.words(guidance); }

  // Subtasks

  subtask_opened({ child_id: id, mode, model }) {
    const child = new Transcript(id, this.view, this.registry);
    const label = el("span", { class: "state" });
    const details = el("details", { class: "subtask", dataset: { task: id } }, el("summary", {}, el("span", { class: "who" }, subtaskName(mode, model)), label), child.node);
    details.addEventListener("toggle", () => {
      if (details.open && !child.node.childElementCount && this.view.loadChild) this.view.loadChild(id, child);
    }, { once: true });
    if (this.view.live) {
      details.open = true;
      label.textContent = "running";
    }
    child.label = label;
    child.mode = mode;
    this.add(details);
    this.view.onSubtask?.(id, details);
  }
  subtask_closed({ child_id: id }) {
    const child = this.registry.get(id);
    if (child?.label) child.label.textContent = "done";
  }

  // Nothing grows any more.
  close() {
    this.text_finished();
    this.thought = null;
    this.question?.classList.remove("pending");
    for (const card of this.cards.values()) {
      if (card instanceof Card) card.interrupt();
      else if (card.stream) { card.stream.end(); card.stream = null; }
    }
  }
}

function subtaskName(mode, model) {
  const about = [mode, model].filter(Boolean).join(", ");
  return about ? `Subtask (${about})` : "Subtask";
}
