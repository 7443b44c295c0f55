// Dialogs: the browser's own, so focus and Escape work as everywhere.

import { button, el } from "./dom.js";
import { get, post } from "./api.js";
import { renderDiff } from "./diff.js";
import { Attachments } from "./images.js";
import { profileName } from "./requests.js";

export function dialog(title, content, actions) {
  const node = el("dialog", { "aria-label": title });
  const close = () => { node.close(); node.remove(); };
  node.append(el("h2", {}, title), ...content, el("div", { class: "buttons end" }, ...actions(close)));
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
  return { node, close };
}

export function confirm(title, words, label, action, more = []) {
  dialog(title, [el("p", {}, words), ...more], (close) => [
    button("Cancel", close),
    button(label, async () => { close(); await action(); }, { class: "danger" }),
  ]);
}

// `# words` is a line for AGENTS.md, which the server knows to tell from a message: true if it was one. The change is
// shown before it is made.
export async function addNote(text, place) {
  if (!text.startsWith("#")) return false;
  const plan = await post("/notes", { text, ...place });
  if (plan.diff === null) return false;
  const added = await new Promise((resolve) => {
    const { node } = dialog(plan.question, [renderDiff(null, plan.diff)], (close) => [
      button("Cancel", close), button("Add", () => { resolve(true); close(); }, { class: "primary" }),
    ]);
    node.addEventListener("close", () => resolve(false));
  });
  if (added) toast((await post("/notes", { text, diff: plan.diff, ...place })).message);
  else toast("Nothing was added.");
  return true;
}

let toastTimer = 0;

export function toast(words, kind = "") {
  const node = document.getElementById("toast");
  node.textContent = words;
  node.className = `toast ${kind}`;
  node.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { node.hidden = true; }, kind === "bad" ? 8000 : 3500);
}

export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, "bad");
    return undefined;
  }
}

function select(label, name, values, current) {
  const options = values.map(([value, words]) => el("option", { value, selected: value === current }, words));
  return el("label", {}, el("span", {}, label), el("select", { name }, options));
}

export async function newTask(folders, current, started) {
  const text = el("textarea", { name: "text", rows: "5", required: true, placeholder: "What would you like to do?", "aria-label": "What would you like to do?" });
  const folder = el("input", { name: "folder", value: current, list: "folders", spellcheck: "false", autocomplete: "off" });
  const choices = el("div", { class: "grid" });
  const problem = el("p", { class: "error", role: "alert" });
  const attached = new Attachments(text, (words) => { problem.textContent = words; });
  const load = async () => {
    problem.textContent = "";
    try {
      const options = await get(`/options?${new URLSearchParams({ folder: folder.value })}`);
      choices.replaceChildren(
        select("Mode", "mode", options.modes.map((each) => [each.slug, each.name]), options.mode),
        select("Model", "model", options.models.map((each) => [each, each]), options.model),
        select("Approvals", "profile", options.profiles.map((each) => [each, profileName(each)]), options.profile));
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  folder.addEventListener("change", load);
  const list = el("datalist", { id: "folders" }, folders.map((each) => el("option", { value: each })));
  const send = async (close) => {
    const start = opened.node.querySelector(".primary");
    if (start.disabled) return;
    start.disabled = true;
    start.textContent = "Starting…";
    const chosen = Object.fromEntries([...choices.querySelectorAll("select")].map((each) => [each.name, each.value]));
    try {
      if (!attached.images.length && await addNote(text.value.trim(), { folder: folder.value })) { close(); return; }
      const { id } = await post("/tasks", { text: text.value, folder: folder.value, images: attached.images, ...chosen });
      close();
      started(id);
    } catch (error) {
      problem.textContent = error.message;
      start.disabled = false;
      start.textContent = "Start";
    }
  };
  const opened = dialog("New task", [text, attached.node, attached.input, el("label", {}, el("span", {}, "Folder"), folder), list, choices, problem], (close) => [
    attached.button, el("span", { class: "space" }), button("Cancel", close), button("Start", () => send(close), { class: "primary" }),
  ]);
  opened.node.classList.add("wide");
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(opened.close);
  });
  text.focus();
  await load();
}
