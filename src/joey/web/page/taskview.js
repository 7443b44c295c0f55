// One task: its conversation, what it waits for, and everything that can be done with it.

import { addNote, attempt, confirm, dialog, toast } from "./dialogs.js";
import { Attachments } from "./images.js";
import { button, clock, el, factList, icon, money, number } from "./dom.js";
import { get, listen, post, remove } from "./api.js";
import { profileName, RequestPanel } from "./requests.js";
import { renderDiff } from "./diff.js";
import { renderTimeline } from "./timeline.js";
import { shortFolder, statusChip } from "./list.js";
import { Transcript } from "./transcript.js";

const NEAR = 120;
const TABS = [["conversation", "Conversation"], ["timeline", "Timeline"], ["files", "Files"], ["state", "State"]];

export class TaskView {
  constructor(taskId, app) {
    this.id = taskId;
    this.app = app;
    this.node = el("div", { class: "task" });
    this.pending = new Map();
    this.build();
  }

  build() {
    this.head = el("header", { class: "task-head" });
    this.tabs = el("div", { class: "tabs", role: "tablist" }, TABS.map(([name, words]) => el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "tab-body", onclick: () => this.show(name) }, words)));
    this.log = el("div", { class: "log", id: "tab-body", role: "tabpanel", tabindex: "0", "aria-label": "Conversation" });
    this.older = el("div", { class: "older" });
    this.pieces = el("div", { class: "pieces" });
    this.side = el("aside", { class: "side", "aria-label": "State of the task" });
    this.panel = el("div", { class: "panel" });
    this.field = el("textarea", { rows: "1", "aria-label": "Message", placeholder: "Message" });
    this.attached = new Attachments(this.field, (words) => toast(words, "bad"));
    this.sendButton = button("Send", () => this.send(), { icon: "send", bare: true, class: "primary round" });
    this.stopButton = button("Stop", () => this.command({ type: "cancel", reason: "stopped in the browser" }), { icon: "stop", bare: true, class: "round stop" });
    this.composer = el("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); this.send(); } }, this.attached.node, this.attached.input, this.attached.button, this.field, this.stopButton, this.sendButton);
    this.field.addEventListener("input", () => { this.field.style.height = "auto"; this.field.style.height = `${Math.min(this.field.scrollHeight, 220)}px`; });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.send(); }
    });
    this.bottom = el("div", { class: "bottom" }, this.panel, this.composer);
    this.log.addEventListener("scroll", () => this.scrolled());
    this.growing = new ResizeObserver(() => this.scroll());
    this.growing.observe(this.pieces);
    this.body = el("div", { class: "task-body" }, el("div", { class: "column" }, this.log, this.bottom), this.side);
    this.node.append(this.head, this.tabs, this.body);
    this.tab = "conversation";
  }

  // Loading and following

  async load() {
    const data = await get(`/tasks/${this.id}`);
    if (data.task.parent) { location.hash = `#/task/${data.task.parent}`; return; }
    this.task = data.task;
    this.pending.clear();
    this.nextOlder = data.older;
    this.transcript = this.newTranscript(Boolean(data.task.run));
    this.pieces.replaceChildren(this.transcript.node);
    this.subtasks = [];
    for (const event of data.events) this.take(event);
    if (!data.task.run) this.transcript.close();
    this.log.replaceChildren(this.older, this.pieces);
    this.older.replaceChildren(...(data.older === null ? [] : [button("Earlier messages", () => this.loadOlder(), { class: "quiet" })]));
    this.follows = true;
    this.app.profilesOf(this.task.folder).then((profiles) => { this.profiles = profiles; this.draw(); });
    this.draw();
    this.show(this.tab);
    this.listen(data.place);
    this.scroll();
  }

  newTranscript(live) {
    return new Transcript(this.id, {
      tools: this.app.meta.tools, live, opens: live,
      loadResult: (call) => get(`/tasks/${this.id}/results/${encodeURIComponent(call)}`),
      loadChild: (id, child) => attempt(async () => {
        const { events } = await get(`/tasks/${id}`);
        for (const event of events) child.apply(event);
        child.close();
      }),
      onSubtask: (id, node) => { this.subtasks.push(node); this.drawSide(); },
    });
  }

  listen(place) {
    this.source?.close();
    this.source = listen(this.id, place, {
      events: (events, at) => { this.task.run = at.split(".")[0]; for (const event of events) this.take(event); this.draw(); this.scroll(); },
      tasks: (change) => {
        this.app.update(change);
        const mine = this.app.list.tasks.get(this.id);
        if (mine) { this.task = { ...this.task, ...mine }; this.draw(); }
        else if (change.gone.includes(this.id)) location.hash = "#/";
      },
      fleet: (change) => this.app.updateFleet(change),
      idle: () => { this.task.run = null; this.pending.clear(); this.transcript.view.live = false; this.draw(); },
      reset: () => attempt(() => this.load()),
      open: () => this.app.connected(true),
      error: () => this.app.connected(false),
    });
  }

  async loadOlder() {
    if (this.nextOlder === null || this.nextOlder === undefined || this.loading) return;
    this.loading = true;
    const data = await attempt(() => get(`/tasks/${this.id}/history?before=${this.nextOlder}`));
    if (data) {
      this.nextOlder = data.older;
      const piece = this.newTranscript(false);
      for (const event of data.events) piece.apply(event);
      piece.close();
      const before = this.log.scrollHeight;
      this.pieces.prepend(piece.node);
      this.log.scrollTop += this.log.scrollHeight - before;
      if (data.older === null) this.older.replaceChildren();
    }
    this.loading = false;
  }

  take(event) {
    this.transcript.apply(event);
    if (event.type.endsWith("_requested")) { this.pending.set(event.request_id, event); this.app.announce(event); }
    else if (event.request_id && event.type.endsWith("_answered")) this.pending.delete(event.request_id);
    else if (event.type === "todos_changed" && event.task === this.id) this.task.todos = event.todos;
    else if (event.type === "turn_finished" && event.task === this.id) {
      const { usage } = event;
      this.task.context = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    } else if (event.type === "task_finished" && event.task === this.id) this.pending.clear();
  }

  // The end is followed until the user scrolls up, and again when they are back. What grows scrolls nothing up.
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.log;
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.follows = true;
    else if (scrollTop < this.lastTop) this.follows = false;
    this.lastTop = scrollTop;
    if (scrollTop < 400 && !this.follows) this.loadOlder();
  }

  scroll() {
    if (!this.follows || this.tab !== "conversation") return;
    this.log.scrollTop = this.log.scrollHeight;
    this.lastTop = this.log.scrollTop;
  }

  // Drawing

  draw() {
    if (!this.task || !this.transcript) return;
    const { task } = this;
    document.title = `${task.title || task.id} · Joey`;
    const state = this.pending.size ? ([...this.pending.values()].some((each) => each.type !== "completion_requested" || each.plan || each.task !== this.id) ? "waiting" : "ready") : task.run ? "running" : task.status;
    const key = JSON.stringify([task.title, task.folder, state, task.mode, task.model, task.profile, this.profiles]);
    if (key !== this.drawnHead) {
      this.drawnHead = key;
      this.head.replaceChildren(
        el("a", { class: "back", href: "#/", "aria-label": "All tasks" }, icon("back")),
        el("div", { class: "heading" }, el("h1", { title: task.title }, task.title || task.id), el("p", { class: "where" }, shortFolder(task.folder), " · ", task.mode, " · ", task.model)),
        statusChip(state), this.menu());
    }
    this.drawPanel();
    this.drawSide();
    this.stopButton.hidden = !task.run || state === "ready";
    this.field.placeholder = state === "ready" || !task.run ? (task.status === "interrupted" || task.status === "cancelled" ? "Continue with a message, or just send" : "What should be done next?") : "Message for the next turn";
  }

  drawPanel() {
    const request = [...this.pending.values()][0];
    const key = request ? `${this.task.run} ${request.request_id}` : "";
    if (this.shownRequest === key) return;
    this.shownRequest = key;
    this.request = request ? new RequestPanel(request, (fields) => this.answer(fields), this.profiles ?? ["ask", "edits"], request.task !== this.id) : null;
    this.panel.replaceChildren(...(this.request && !this.request.isEmpty ? [this.request.node] : []));
    this.scroll();
  }

  drawSide() {
    if (!this.task) return;
    const { task } = this;
    const share = task.window ? Math.min(task.context / task.window, 1) : null;
    const key = JSON.stringify([task.todos, task.context, task.usage, task.cost, task.turns, this.subtasks.map((node) => node.querySelector("summary .who").textContent)]);
    if (key === this.drawnSide) return;
    this.drawnSide = key;
    const marks = { completed: "check", in_progress: "clock", pending: "" };
    const todos = (task.todos ?? []).map((todo) => el("li", { class: todo.status }, el("span", { class: "mark" }, marks[todo.status] ? icon(marks[todo.status]) : ""), el("span", {}, todo.content)));
    const input = task.usage.input_tokens + task.usage.cache_read_tokens + task.usage.cache_write_tokens;
    const facts = [["Turns", String(task.turns)], ["Tokens in", number(input)], ["Tokens out", number(task.usage.output_tokens)], ["Cost", money(task.cost) || "–"]];
    const meter = el("div", { class: "meter" }, el("span", {}, "Context"), el("span", { class: "value" }, share === null ? number(task.context) : `${number(task.context)} of ${number(task.window)}`),
      share === null ? null : el("div", { class: "track", role: "meter", "aria-label": "Context", "aria-valuenow": Math.round(share * 100), "aria-valuemin": "0", "aria-valuemax": "100" }, el("div", { class: "fill" })));
    const fill = meter.querySelector(".fill");
    if (fill) fill.style.width = `${Math.max(share * 100, 1)}%`;
    this.side.replaceChildren(
      ...(todos.length ? [el("h2", {}, "Todo"), el("ul", { class: "todos" }, todos)] : []),
      ...(this.subtasks.length ? [el("h2", {}, "Subtasks"), this.tree()] : []),
      el("h2", {}, "Usage"), meter, factList(facts));
  }

  tree() {
    const inside = new Map();
    for (const node of this.subtasks) {
      const parent = node.parentNode?.closest(".subtask") ?? null;
      if (!inside.has(parent)) inside.set(parent, []);
      inside.get(parent).push(node);
    }
    const branch = (parent) => (inside.get(parent) ?? []).map((node) => el("li", {}, button(node.querySelector("summary .who").textContent, () => { node.open = true; node.scrollIntoView({ block: "start" }); }, { class: "quiet small" }), inside.has(node) ? el("ul", {}, branch(node)) : null));
    return el("ul", { class: "tree" }, branch(null));
  }

  menu() {
    const { task } = this;
    const profiles = (this.profiles ?? []).map((each) => button(profileName(each), () => this.setProfile(each), { role: "menuitemradio", "aria-checked": String(each === task.profile) }));
    const items = [
      task.run ? button("Stop", () => this.command({ type: "cancel", reason: "stopped in the browser" })) : null,
      task.run ? button("Summarize the conversation", () => this.command({ type: "condense" })) : null,
      button("Fork", () => this.fork()),
      el("a", { href: `/api/v1/tasks/${this.id}/export`, download: `${this.id}.html` }, "Export as HTML"),
      task.run ? null : button("Delete…", () => this.delete(), { class: "danger-text" }),
      ...(profiles.length && task.run ? [el("span", { class: "menu-head" }, "Approvals"), ...profiles] : []),
    ];
    const node = el("details", { class: "menu" }, el("summary", { "aria-label": "More", title: "More" }, icon("more")), el("div", { class: "menu-items" }, items));
    node.addEventListener("click", (event) => { if (event.target.closest("button, a")) node.open = false; });
    node.addEventListener("keydown", (event) => { if (event.key === "Escape" && node.open) { node.open = false; node.firstChild.focus(); event.stopPropagation(); } });
    return node;
  }

  async show(tab) {
    this.tab = tab;
    for (const each of this.tabs.children) each.setAttribute("aria-selected", String(each.id === `tab-${tab}`));
    this.log.setAttribute("aria-label", TABS.find(([name]) => name === tab)[1]);
    this.node.dataset.tab = tab;
    if (tab === "state") return;
    if (tab === "conversation") { this.log.replaceChildren(this.older, this.pieces); this.scroll(); return; }
    const drawn = await attempt(() => (tab === "timeline" ? this.timeline() : this.files()));
    if (drawn && this.tab === tab) this.log.replaceChildren(drawn);
  }

  async timeline() {
    const { turns, window: limit } = await get(`/tasks/${this.id}/timeline`);
    return renderTimeline(turns, limit);
  }

  async files() {
    const { checkpoints } = await get(`/tasks/${this.id}/checkpoints`);
    const rows = checkpoints.slice().reverse().map((each) => {
      const details = el("details", { class: "checkpoint" }, el("summary", {}, el("span", { class: "turn-number" }, `Turn ${each.turn}`), el("span", {}, each.label), el("span", { class: "about" }, clock(each.at))));
      details.addEventListener("toggle", async () => {
        if (!details.open || details.childElementCount > 1) return;
        const plan = await attempt(() => get(`/tasks/${this.id}/checkpoints/${each.id}`));
        if (plan) details.append(plan.diff ? el("p", { class: "note" }, "Going back to here would change:") : el("p", { class: "note" }, "The files are as they were here."), plan.diff ? renderDiff(null, plan.diff) : "");
      });
      return details;
    });
    const steps = el("div", { class: "buttons" }, button("Undo…", () => this.step("undo")), button("Redo…", () => this.step("redo")));
    return el("div", { class: "files" }, el("p", {}, checkpoints.length ? "Before each change the files were kept." : "This task has changed no files."), checkpoints.length ? steps : null, rows);
  }

  // What a person does

  send() {
    const text = this.field.value.trim();
    if (this.request?.onSend && text) { this.request.field.value = text; this.clear(); this.request.onSend(); return undefined; }
    const { images } = this.attached;
    if (this.task.run && !text && !images.length) return undefined;
    return attempt(async () => {
      if (!images.length && await addNote(text, { task: this.id })) { this.clear(); return; }
      const resume = () => post(`/tasks/${this.id}/resume`, { text, images });
      // It may have ended a moment ago.
      if (this.task.run) await this.command({ type: "say", text, images }, false).catch((error) => { if (error.status !== 409) throw error; return resume(); });
      else await resume();
      this.clear();
      this.follows = true;
    });
  }

  clear() {
    this.field.value = "";
    this.field.style.height = "auto";
    this.attached.clear();
  }

  async command(command, shows = true) {
    const work = () => post(`/tasks/${this.id}/commands`, { run: this.task.run, command });
    return shows ? attempt(work) : work();
  }

  answer(fields) {
    return this.command({ type: "answer", ...fields }, false).catch((error) => { toast(error.message, "bad"); throw error; });
  }

  setProfile(profile) { return this.command({ type: "set_profile", profile }); }

  async fork() {
    const made = await attempt(() => post(`/tasks/${this.id}/fork`, {}));
    if (made) { toast("This is a copy: it shares the conversation so far."); location.hash = `#/task/${made.id}`; }
  }

  delete() {
    confirm("Delete this task?", "Its conversation, checkpoints and the output of its commands are deleted.", "Delete", () => attempt(async () => {
      await remove(`/tasks/${this.id}`);
      location.hash = "#/";
    }));
  }

  async step(step) {
    const plan = await attempt(() => get(`/tasks/${this.id}/${step}`));
    if (!plan) return;
    const warned = plan.changed.length ? el("p", { class: "error" }, `Changed by somebody else since: ${plan.changed.join(", ")}`) : null;
    const left = Object.entries(plan.left).map(([path, why]) => el("p", { class: "note" }, `Stays as it is: ${path}: ${why}`));
    const opened = dialog(step === "undo" ? "Undo the last changes of files?" : "Redo the changes?", [...[warned].filter(Boolean), ...left, renderDiff(null, plan.diff)], (close) => [
      button("Cancel", close),
      button(warned ? `${step === "undo" ? "Undo" : "Redo"} anyway` : step === "undo" ? "Undo" : "Redo", async () => {
        close();
        const done = await attempt(() => post(`/tasks/${this.id}/${step}`, { anyway: Boolean(warned) }));
        if (done) { toast(done.message); this.show("files"); }
      }, { class: "primary" }),
    ]);
    opened.node.classList.add("wide");
  }

  key(event) { return this.request ? this.request.press(event.key) : false; }

  close() {
    this.source?.close();
    this.growing.disconnect();
  }
}
