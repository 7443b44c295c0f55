// The tasks: what waits for you first, then what runs, then the rest by folder.

import { ago, button, el, icon } from "./dom.js";
import { get } from "./api.js";

export const STATUS = {
  waiting: "Waiting for you", ready: "Done, open for feedback", running: "Running", completed: "Completed", cancelled: "Stopped",
  interrupted: "Interrupted", error: "Failed", refused: "Refused", limit: "Limit reached",
};

let home = "";

export function setHome(folder) { home = folder; }

export function shortFolder(folder) {
  if (!folder) return "(unknown folder)";
  return home && (folder === home || folder.startsWith(`${home}/`)) ? `~${folder.slice(home.length)}` : folder;
}

export class TaskList {
  constructor() {
    this.tasks = new Map();
    this.found = null;
    this.current = "";
    this.search = el("input", { type: "search", placeholder: "Search tasks", "aria-label": "Search tasks" });
    this.search.addEventListener("input", () => { this.found = null; this.draw(); clearTimeout(this.timer); this.timer = setTimeout(() => this.deeper(), 300); });
    this.groups = el("nav", { class: "groups", "aria-label": "Tasks" });
    this.folded = new Set();
  }

  update({ tasks, gone, all }) {
    if (all) this.tasks.clear();
    for (const task of tasks) this.tasks.set(task.id, task);
    for (const id of gone) this.tasks.delete(id);
    this.draw();
  }

  // What stands in the conversation is searched by the server.
  async deeper() {
    const words = this.search.value.trim();
    if (words.length < 3) return;
    try {
      const { tasks } = await get(`/tasks?${new URLSearchParams({ search: words })}`);
      if (this.search.value.trim() === words) { this.found = new Set(tasks.map((each) => each.id)); this.draw(); }
    } catch { /* the titles are searched all the same */ }
  }

  get shown() {
    const words = this.search.value.trim().toLowerCase();
    const all = [...this.tasks.values()].sort((a, b) => b.changed - a.changed);
    if (!words) return all;
    return all.filter((each) => this.found?.has(each.id) || `${each.title} ${each.folder} ${each.id}`.toLowerCase().includes(words));
  }

  get waiting() { return [...this.tasks.values()].filter((each) => each.status === "waiting"); }

  get folders() { return [...new Set([...this.tasks.values()].sort((a, b) => b.changed - a.changed).map((each) => each.folder).filter(Boolean))]; }

  draw() {
    const groups = new Map();
    for (const task of this.shown) {
      const name = task.status === "waiting" ? "Waiting for you" : task.status === "running" ? "Running" : shortFolder(task.folder);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(task);
    }
    const order = [...groups.keys()].sort((a, b) => rank(a) - rank(b));
    this.groups.replaceChildren(...order.map((name) => this.group(name, groups.get(name))));
    if (!order.length) this.groups.append(el("p", { class: "empty" }, this.search.value ? "No task contains this." : "No tasks yet. Start one here, or with joey in a terminal: it appears here as well."));
  }

  group(name, tasks) {
    const max = this.folded.has(name) ? tasks.length : 8;
    const more = tasks.length > max ? button(`${tasks.length - max} more`, () => { this.folded.add(name); this.draw(); }, { class: "quiet small more" }) : null;
    const kind = rank(name) === 0 ? "waits" : rank(name) === 1 ? "runs" : "";
    return el("section", { class: `group ${kind}` }, el("h2", { title: tasks[0].folder ?? "" }, name), el("ul", {}, tasks.slice(0, max).map((each) => this.row(each))), more);
  }

  row(task) {
    const place = ["waiting", "running"].includes(task.status) ? shortFolder(task.folder).split("/").pop() : "";
    const about = [place, STATUS[task.status] === "Waiting for you" ? waitsFor(task) : STATUS[task.status], ago(task.changed)].filter(Boolean).join(" · ");
    return el("li", {}, el("a", { href: `#/task/${task.id}`, class: `row ${task.status}`, "aria-current": task.id === this.current ? "page" : null },
      el("span", { class: "dot", "aria-hidden": "true" }), el("span", { class: "title" }, task.title || task.id), el("span", { class: "about" }, about)));
  }

  move(step) {
    const links = [...this.groups.querySelectorAll("a.row")];
    const at = links.findIndex((each) => each === document.activeElement || each.hash === location.hash);
    links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
  }
}

export function waitsFor(task) {
  return { approval_requested: "needs approval", question_requested: "has a question", completion_requested: "has a plan or a result", continue_requested: "asks to continue" }[task.waits_for] ?? "waits";
}

function rank(name) {
  return name === "Waiting for you" ? 0 : name === "Running" ? 1 : 2;
}

export function statusChip(status) {
  const mark = { waiting: "bell", running: "clock", completed: "check", ready: "check", error: "cross" }[status];
  return el("span", { class: `chip status ${status}` }, mark ? icon(mark) : null, STATUS[status] ?? status);
}
