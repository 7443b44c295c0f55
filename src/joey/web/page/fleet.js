// The fleet: what waits for a person, batches, workers, failures, and cost over time. The stream says how it looks now.

import { ago, button, clock, el, factList, icon, money, number, pageHead } from "./dom.js";
import { attempt, confirm, toast } from "./dialogs.js";
import { costChart } from "./timeline.js";
import { get, post } from "./api.js";
import { RequestPanel } from "./requests.js";
import { Transcript } from "./transcript.js";

// The order of a bar, and how each part is called.
const STATES = { completed: "completed", failed: "failed", running: "running", asks: "waiting for you", queued: "queued" };
const MAX_ROWS = 200;
const named = encodeURIComponent;

function stateOf(task) {
  return task.state !== "done" ? task.state : task.outcome === "completed" ? "completed" : "failed";
}

function counted(counts) {
  const sums = { completed: 0, failed: 0, running: 0, asks: 0, queued: 0 };
  for (const [state, count] of Object.entries(counts)) sums[state in sums ? state : "failed"] += count;
  return sums;
}

function progress(counts) {
  const sums = counted(counts);
  const total = Object.values(sums).reduce((sum, each) => sum + each, 0);
  const words = Object.entries(sums).filter(([, count]) => count).map(([state, count]) => `${count} ${STATES[state]}`).join(", ") || "no tasks";
  const parts = Object.entries(sums).filter(([, count]) => count).map(([state, count]) => {
    const part = el("span", { class: `part ${state}` });
    part.style.flexGrow = String(count / total);
    return part;
  });
  return [el("span", { class: "stack", role: "img", "aria-label": words }, parts), el("span", { class: "about" }, words)];
}

function chip(task) {
  const state = stateOf(task);
  const kind = { completed: "completed", failed: "error", running: "running", asks: "waiting", queued: "" }[state];
  return el("span", { class: `chip ${kind}` }, state === "failed" ? task.outcome : STATES[state]);
}

function spent(cost, budget) {
  return budget === null ? money(cost) : `${money(cost)} of ${money(budget)}`;
}

const FLEET = ["#/fleet", "The fleet"];

function section(title, ...content) {
  return el("section", { class: "fleet-part" }, el("h2", {}, title), ...content);
}

const link = (task) => `#/fleet/task/${named(task.id)}`;

// An answer names the part of the task whose question was on the screen.
function panelFor(task, answered) {
  const request = { ...task.question, always: [] };
  return new RequestPanel(request, async ({ yes, text }) => {
    try {
      await post(`/fleet/tasks/${named(task.id)}/answer`, { part: task.part, yes: Boolean(yes), text: text ?? "" });
      toast(`Answered ${task.id}.`);
      answered();
    } catch (error) {
      toast(error.message, "bad");
      answered();
      throw error;
    }
  });
}

function change(verb, name, words, label, then) {
  return () => confirm(label, words, label.replace(/\?$/, ""), () => attempt(async () => {
    const { tasks } = await post(`/fleet/${verb}`, { name });
    toast(`${tasks} ${tasks === 1 ? "task" : "tasks"} ${verb === "cancel" ? "cancelled, or about to be" : "in the queue again"}.`);
    await then();
  }));
}

class FleetPage {
  constructor(app) {
    this.app = app;
    this.body = el("div", { class: "page-body fleet" });
    this.node = el("div", { class: "page" });
  }

  async load() {
    await this.read();
    this.app.listenToList();
  }

  key() { return false; }
  close() { this.closed = true; }
}

export class FleetView extends FleetPage {
  constructor(app) {
    super(app);
    this.open = new Map();
    this.node.append(pageHead("Fleet", "Tasks on a queue, on this machine and on others"), this.body);
  }

  async read() {
    this.app.fleet = await get("/fleet");
    document.title = "Fleet · Joey";
    this.drawFleet();
  }

  drawFleet() {
    const { fleet, problem } = this.app.fleet;
    const key = JSON.stringify(this.app.fleet);
    if (key === this.drawn) return;
    this.drawn = key;
    if (!fleet) {
      const words = [el("p", {}, "A fleet runs many tasks on a queue, on this machine or on many, and asks you here."), el("pre", { class: "code", tabindex: "0" }, "joey fleet run tasks.jsonl --workers 4")];
      this.body.replaceChildren(el("div", { class: "nothing" }, ...(problem ? [el("p", { class: "error" }, problem)] : [el("h2", {}, "There is no fleet yet"), ...words])));
      return;
    }
    const sums = counted({});
    for (const batch of fleet.batches) for (const [state, count] of Object.entries(counted(batch.counts))) sums[state] += count;
    const slots = fleet.workers.reduce((sum, each) => sum + each.slots, 0);
    const cost = fleet.batches.reduce((sum, each) => sum + each.cost, 0);
    const points = fleet.batches.slice().sort((a, b) => a.created - b.created).map((each) => [each.created, each.cost]);
    this.body.replaceChildren(
      factList([["Waiting for you", number(fleet.waiting_count)], ["Running", `${sums.running} of ${slots}`], ["Queued", number(sums.queued)], ["Completed", number(sums.completed)], ["Failed", number(sums.failed)], ["Cost", money(cost)]]),
      fleet.waiting_count ? section("Waiting for you", el("div", { class: "waiting-list" }, fleet.waiting.map((each) => this.waiting(each))), fleet.waiting_count > fleet.waiting.length ? el("p", { class: "note" }, `and ${fleet.waiting_count - fleet.waiting.length} more`) : null) : null,
      section("Batches", fleet.batches.length ? el("ul", { class: "batches" }, fleet.batches.map((each) => this.batch(each))) : el("p", { class: "note" }, "No batches yet.")),
      section("Workers", fleet.workers.length ? el("ul", { class: "workers" }, fleet.workers.map((each) => el("li", {}, el("b", {}, each.id), el("span", { class: "about" }, ` on ${each.host} · ${each.running} of ${each.slots} slots`)))) : el("p", { class: "note" }, "No worker runs. Start one with: joey fleet work")),
      ...(fleet.running.length ? [section("Running", rows(fleet.running))] : []),
      ...(points.length > 1 && cost ? [section("Cost over time", costChart(points))] : []));
  }

  // What is open stays open, with the words that were typed, as long as the same question waits.
  waiting(task) {
    const key = `${task.id} ${task.part}`;
    if (this.open.has(key)) return this.open.get(key);
    const details = el("details", { class: "needs-you" }, el("summary", {}, icon("bell"), el("span", { class: "title" }, task.id), el("span", { class: "subject" }, task.asks.text), el("span", { class: "about" }, ago(task.changed))));
    this.open.set(key, details);
    details.addEventListener("toggle", async () => {
      if (!details.open || details.childElementCount > 1) return;
      const found = await attempt(() => get(`/fleet/tasks/${named(task.id)}`));
      if (!found) return;
      const still = found.task.question && found.task.part === task.part;
      details.append(still ? panelFor(found.task, () => { this.open.delete(key); this.drawn = ""; attempt(() => this.read()); }).node : el("p", { class: "note" }, "It does not wait for this any more."), el("p", {}, el("a", { href: link(task) }, "The whole task")));
    });
    return details;
  }

  batch(batch) {
    const share = batch.budget ? Math.min(batch.cost / batch.budget, 1) : null;
    const [bar, words] = progress(batch.counts);
    return el("li", {}, el("a", { class: "batch", href: `#/fleet/batch/${named(batch.name)}` }, el("b", {}, batch.name), el("span", { class: share === 1 ? "cost full" : "cost" }, spent(batch.cost, batch.budget)), bar, words, el("span", { class: "about when" }, ago(batch.created))));
  }
}

function rows(tasks) {
  return el("div", { class: "table", tabindex: "0" }, el("table", { class: "tasks" },
    el("thead", {}, el("tr", {}, ["Task", "State", "Turns", "Cost", "Worker", "Changed"].map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, tasks.slice(0, MAX_ROWS).map((task) => el("tr", {},
      el("td", { class: "name" }, el("a", { href: link(task) }, task.id), el("span", { class: stateOf(task) === "failed" ? "message error" : "message" }, stateOf(task) === "failed" && task.message ? task.message : task.prompt)),
      el("td", {}, chip(task)), el("td", { class: "right" }, String(task.turns)), el("td", { class: "right" }, money(task.cost)), el("td", {}, task.worker || "–"), el("td", {}, ago(task.changed)))))));
}

export class BatchView extends FleetPage {
  constructor(app, name) {
    super(app);
    this.name = name;
    this.shown = "all";
  }

  async read() {
    const { tasks } = await get(`/fleet/batches/${named(this.name)}`);
    if (this.closed) return;
    this.tasks = tasks;
    document.title = `${this.name} · Joey`;
    this.draw();
  }

  drawFleet() { return attempt(() => this.read()); }

  draw() {
    if (!this.tasks) return;
    const key = JSON.stringify([this.tasks, this.shown]);
    if (key === this.drawn) return;
    this.drawn = key;
    const counts = {};
    for (const task of this.tasks) counts[stateOf(task)] = (counts[stateOf(task)] ?? 0) + 1;
    const cost = this.tasks.reduce((sum, each) => sum + each.cost, 0);
    const open = ["queued", "running", "asks"].some((each) => counts[each]);
    const again = () => this.read();
    const points = this.tasks.filter((each) => each.state === "done").sort((a, b) => a.changed - b.changed).map((each) => [each.changed, each.cost]);
    const filters = ["all", ...Object.keys(STATES).filter((each) => counts[each])].map((each) => button(each === "all" ? `All ${this.tasks.length}` : `${STATES[each][0].toUpperCase()}${STATES[each].slice(1)} ${counts[each]}`, () => { this.shown = each; this.draw(); }, { class: "small", "aria-pressed": String(each === this.shown) }));
    const order = ["asks", "failed", "running", "queued", "completed"];
    const found = this.tasks.filter((each) => this.shown === "all" || stateOf(each) === this.shown).sort((a, b) => order.indexOf(stateOf(a)) - order.indexOf(stateOf(b)));
    this.node.replaceChildren(
      pageHead(this.name, `${this.tasks.length} tasks · ${money(cost)}`, FLEET, [
        counts.failed ? button("Retry failed", change("retry", this.name, "Tasks that ended without being completed continue where they were.", "Retry them?", again), { class: "small" }) : null,
        open ? button("Cancel", change("cancel", this.name, "Tasks that have not ended are cancelled. What they changed stays recorded.", "Cancel this batch?", again), { class: "small danger" }) : null]),
      el("div", { class: "page-body fleet" }, el("div", { class: "batch" }, progress(counts)), el("div", { class: "bar-row", role: "group", "aria-label": "Which tasks" }, filters), rows(found),
        found.length > MAX_ROWS ? el("p", { class: "note" }, `and ${found.length - MAX_ROWS} more; \`joey fleet status ${this.name}\` lists all`) : null,
        ...(points.length > 1 && cost ? [section("Cost over time", costChart(points))] : [])));
  }
}

export class FleetTaskView extends FleetPage {
  constructor(app, id) {
    super(app);
    this.id = id;
    this.path = `/fleet/tasks/${named(id)}`;
    this.panel = el("div", { class: "panel" });
    this.log = el("div", { class: "recorded" });
    this.about = el("div");
  }

  async read() {
    const { task, events, older } = await get(this.path);
    if (this.closed) return;
    const key = JSON.stringify(task);
    if (key === this.drawn) return;
    this.drawn = key;
    this.task = task;
    document.title = `${task.id} · Joey`;
    this.drawTask();
    this.log.replaceChildren(this.transcript(task.journal, events));
    if (older !== null) this.log.prepend(this.earlier(older));
  }

  drawFleet() { return attempt(() => this.read()); }

  transcript(journal, events) {
    const made = new Transcript(journal, {
      tools: this.app.meta.tools, live: false, opens: false,
      loadChild: (id, child) => attempt(async () => {
        const found = await get(`${this.path}/journals/${named(id)}`);
        for (const event of found.events) child.apply(event);
        child.close();
      }),
    });
    for (const event of events) made.apply(event);
    made.close();
    return made.node;
  }

  earlier(place) {
    const node = el("div", { class: "older" }, button("Earlier messages", () => attempt(async () => {
      const { events, older } = await get(`${this.path}/journals/${named(this.task.journal)}?before=${place}`);
      node.replaceWith(...(older === null ? [] : [this.earlier(older)]), this.transcript(this.task.journal, events));
    }), { class: "quiet" }));
    return node;
  }

  drawTask() {
    const { task } = this;
    const again = () => this.read();
    const failed = task.state === "done" && task.outcome !== "completed";
    const known = [["Batch", task.batch], ["Repository", task.repository || task.folder], ["Commit", (task.commit || task.base || "").slice(0, 12)], ["Worker", task.worker], ["Turns", String(task.turns)], ["Cost", money(task.cost)], ["Changed", clock(task.changed)]];
    const waits = task.question ? task.part : 0; // words that are being typed stay as long as the same question waits
    if (waits !== this.waits) {
      this.waits = waits;
      this.request = waits ? panelFor(task, () => { this.drawn = ""; this.waits = 0; attempt(again); }) : null;
      this.panel.replaceChildren(...(this.request ? [this.request.node] : []));
    }
    this.node.replaceChildren(
      pageHead(task.id, task.prompt.replace(/\s+/g, " ").slice(0, 300), FLEET, [chip(task),
        failed ? button("Retry", change("retry", task.id, "The task continues where it was.", "Retry it?", again), { class: "small" }) : null,
        task.state !== "done" ? button("Cancel", change("cancel", task.id, "What it changed so far stays recorded.", "Cancel this task?", again), { class: "small danger" }) : null]),
      el("div", { class: "page-body fleet" }, factList(known.filter(([, value]) => value)),
        failed ? el("p", { class: "error" }, `${task.outcome}: ${task.message}`) : null, this.panel,
        this.log));
  }

  key(event) { return this.request ? this.request.press(event.key) : false; }
}
