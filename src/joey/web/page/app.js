// The page: a list of tasks beside what is open. The address says what that is, so links and the back button work.

import { attempt, dialog, newTask, toast } from "./dialogs.js";
import { button, el, pageHead, remember, remembered } from "./dom.js";
import { BatchView, FleetTaskView, FleetView } from "./fleet.js";
import { get, listen } from "./api.js";
import { Playground } from "./playground.js";
import { renderOverview } from "./timeline.js";
import { setHome, TaskList, waitsFor } from "./list.js";
import { TaskView } from "./taskview.js";

const KEYS = [["n", "new task"], ["/", "search"], ["?", "all keys"], ["m", "write a message"], ["j k", "move through the list"], ["y n", "answer an approval"], ["1 … 9", "pick a suggestion"], ["Esc", "leave a field"]];

class Overview {
  constructor(app) {
    this.app = app;
    this.body = el("div", { class: "page-body" });
    this.node = el("div", { class: "page" }, pageHead("Overview", "All tasks of this machine"), this.body);
  }

  async load() { document.title = "Overview · Joey"; this.draw(); this.app.listenToList(); }
  draw() { this.body.replaceChildren(renderOverview([...this.app.list.tasks.values()])); }
  key() { return false; }
  close() {}
}

class Welcome {
  constructor(app) {
    this.app = app;
    this.node = el("div", { class: "page welcome" }, el("div", {}, el("h1", {}, "What would you like to do?"), el("p", {}, "Choose a task, or start a new one. Tasks of terminals and editors are here as well."), button("New task", () => app.startTask(), { class: "primary", icon: "plus" }), el("p", { class: "note" }, "Press ? for the keys.")));
  }

  async load() { document.title = "Joey"; this.app.listenToList(); }
  key() { return false; }
  close() {}
}

class App {
  constructor(meta) {
    this.meta = meta;
    setHome(meta.home);
    this.list = new TaskList();
    this.main = document.getElementById("main");
    this.status = document.getElementById("status");
    this.offline = document.getElementById("offline");
    this.profiles = new Map();
    this.before = null;
    this.fleet = { fleet: null };
    this.fleetLink = el("a", { href: "#/fleet", hidden: true });
    const side = document.getElementById("sidebar");
    this.bell = button("Notify me", () => this.allowNotifications(), { icon: "bell", bare: true, class: "quiet" });
    side.append(
      el("div", { class: "brand" }, el("a", { href: "#/", class: "logo" }, "Joey"), button("New task", () => this.startTask(), { class: "primary small", icon: "plus" })),
      el("div", { class: "search" }, this.list.search), this.list.groups,
      el("footer", {}, this.fleetLink, el("a", { href: "#/overview" }, "Overview"), el("a", { href: "#/playground" }, "Playground"), el("span", { class: "space" }), this.bell, button("Dark or light", () => this.toggleTheme(), { icon: "sun", bare: true, class: "quiet" })));
    if (!("Notification" in window) || Notification.permission === "granted") this.bell.hidden = true;
    document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); this.main.focus(); });
    addEventListener("hashchange", () => this.route());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  update(change) {
    this.list.update(change);
    this.call();
    this.view?.draw?.();
  }

  updateFleet(change) {
    this.fleet = change;
    const { fleet, problem } = change;
    this.fleetLink.hidden = !fleet && !problem;
    this.fleetLink.replaceChildren("Fleet", ...(fleet?.waiting_count ? [el("span", { class: "count" }, el("span", { class: "visually-hidden" }, " waiting for you: "), String(fleet.waiting_count))] : []));
    this.call();
    this.view?.drawFleet?.();
  }

  // Say how many wait for the user, and notify of those that are new.
  call() {
    const here = this.list.waiting.map((each) => [`${each.run} ${each.request}`, each.title, `Joey ${waitsFor(each)}`, `#/task/${each.id}`]);
    const far = (this.fleet.fleet?.waiting ?? []).map((each) => [`${each.id} ${each.part}`, each.id, `Joey ${waitsFor({ waits_for: each.asks.type })}`, `#/fleet/task/${encodeURIComponent(each.id)}`]);
    const count = here.length + (this.fleet.fleet?.waiting_count ?? 0);
    document.title = document.title.replace(/^(\(\d+\) )?/, count ? `(${count}) ` : "");
    navigator.setAppBadge?.(count).catch(() => {});
    const requests = [...here, ...far];
    if (this.before) for (const each of requests) if (!this.before.has(each[0])) this.notify(...each);
    this.before = new Set(requests.map(([key]) => key));
  }

  notify(_key, title, body, place) {
    if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
    const note = new Notification(title, { body, tag: place });
    note.onclick = () => { window.focus(); location.hash = place; note.close(); };
  }

  async allowNotifications() {
    const answer = await Notification.requestPermission();
    this.bell.hidden = answer === "granted";
    toast(answer === "granted" ? "You are notified when a task waits for you." : "Notifications are blocked in the browser.");
  }

  toggleTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    remember("theme", document.documentElement.dataset.theme);
  }

  announce(event) {
    const words = { approval_requested: `Approval required: ${event.name}`, question_requested: "Joey has a question", completion_requested: "Joey is done", continue_requested: "Joey asks whether to continue" };
    this.status.textContent = words[event.type] ?? "";
  }

  connected(yes) { this.offline.hidden = yes; }

  profilesOf(folder) {
    if (!this.profiles.has(folder)) this.profiles.set(folder, get(`/options?${new URLSearchParams({ folder: folder ?? "" })}`).then((found) => found.profiles).catch(() => []));
    return this.profiles.get(folder);
  }

  listenToList() {
    this.source = listen("", "", { tasks: (change) => this.update(change), fleet: (change) => this.updateFleet(change), open: () => this.connected(true), error: () => this.connected(false) });
  }

  startTask() {
    const now = this.view?.task?.folder ?? this.meta.folder;
    return attempt(() => newTask(this.list.folders, now, (id) => { location.hash = `#/task/${id}`; }));
  }

  async route() {
    this.view?.close();
    this.source?.close();
    this.source = null;
    const [, name, ...rest] = location.hash.split("/").map(decoded);
    this.list.current = name === "task" ? rest[0] : "";
    document.body.dataset.view = name || "list";
    this.view = this.viewOf(name, rest);
    this.main.replaceChildren(this.view.node);
    const view = this.view;
    const fine = await attempt(async () => { await view.load(); return true; });
    if (!fine && this.view === view) { this.main.replaceChildren(new Welcome(this).node); this.listenToList(); }
    if (!(this.view instanceof TaskView) && !this.source) this.listenToList();
    this.list.draw();
  }

  viewOf(name, [first, second]) {
    if (name === "task" && first) return new TaskView(first, this);
    if (name === "fleet" && second) return first === "batch" ? new BatchView(this, second) : new FleetTaskView(this, second);
    const pages = { fleet: FleetView, playground: Playground, overview: Overview };
    return Object.hasOwn(pages, name ?? "") ? new pages[name](this) : new Welcome(this);
  }

  key(event) {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (this.view?.key(event)) event.preventDefault();
    else if (event.key === "/") { event.preventDefault(); this.list.search.focus(); }
    else if (event.key === "?") dialog("Keys", [el("p", {}, "They work while no field has the focus."), el("dl", { class: "keys" }, KEYS.map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words))))], (close) => [button("Close", close)]);
    else if (event.key === "n") { event.preventDefault(); this.startTask(); }
    else if (event.key === "m" && this.view instanceof TaskView) { event.preventDefault(); this.view.field.focus(); }
    else if (event.key === "j" || event.key === "k") this.list.move(event.key === "j" ? 1 : -1);
  }
}

// A part of the address, which anybody may have written.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

async function begin() {
  const theme = remembered("theme", "");
  if (theme) document.documentElement.dataset.theme = theme;
  // The cookie stands for the token in what is read; what changes something needs the token. The address need not show it.
  const token = new URLSearchParams(location.search).get("token");
  if (token) remember("token", token);
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  try {
    const app = new App(await get("/meta"));
    await app.route();
  } catch (error) {
    document.getElementById("main").replaceChildren(el("div", { class: "page welcome" }, el("div", {}, el("h1", {}, "Joey"), el("p", {}, error.message))));
  }
}

begin();
