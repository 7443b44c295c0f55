// Small things that every part of the page needs. Text goes into the document as text, never as markup.

// What reorders or hides text, and what no screen shows, as a sign: the same characters as in the terminal.
const HIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|\r(?!\n|$)/gu;

export function visible(text) {
  return text.replace(HIDDEN, (found) => `‹U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

const shown = (each) => (typeof each === "string" ? visible(each) : each);

export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false).map(shown));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props || {})) node.setAttribute(name, String(value));
  node.append(...children.flat().map(shown));
  return node;
}

const ICONS = {
  read: "M4 5.5c2.5-1 5-1 8 .5 3-1.5 5.5-1.5 8-.5V19c-2.5-1-5-1-8 .5-3-1.5-5.5-1.5-8-.5zM12 6v13.5",
  edit: "M5 19h4L19 9l-4-4L5 15zM13.5 6.5l4 4",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5",
  execute: "M5 7l5 5-5 5M12.5 18H20",
  fetch: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM3.5 12h17M12 3.5c3 3 3 14 0 17M12 3.5c-3 3-3 14 0 17",
  think: "M12 4v3M12 17v3M4 12h3M17 12h3M6.5 6.5l2 2M15.5 15.5l2 2M17.5 6.5l-2 2M8.5 15.5l-2 2",
  switch_mode: "M4 8h14l-3-3M20 16H6l3 3",
  other: "M12 4l7 4v8l-7 4-7-4V8zM5 8l7 4 7-4M12 12v8",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2",
  plus: "M12 5v14M5 12h14",
  back: "M14 6l-6 6 6 6",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  stop: "M7 7h10v10H7z",
  send: "M12 19V6M6 12l6-6 6 6",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2.5M12 19v2.5M2.5 12H5M19 12h2.5M5.5 5.5l1.5 1.5M17 17l1.5 1.5M18.5 5.5L17 7M7 17l-1.5 1.5",
  image: "M4 5h16v14H4zM8 10h.01M5 17l5-5 4 4 2-2 3 3",
};

export function icon(name) {
  const path = svg("path", { d: ICONS[name] || ICONS.other });
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, path);
}

export function button(label, action, props) {
  const { icon: shape, ...rest } = props || {};
  const words = shape && rest.bare ? [] : [label];
  const named = shape && rest.bare ? { "aria-label": label, title: label } : {};
  delete rest.bare;
  return el("button", { type: "button", onclick: action, ...named, ...rest }, shape ? icon(shape) : null, ...words);
}

export function factList(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export function pageHead(title, where, back = ["#/", "All tasks"], more = []) {
  return el("header", { class: "task-head" }, el("a", { class: "back", href: back[0], "aria-label": back[1] }, icon("back")), el("div", { class: "heading" }, el("h1", { title }, title), el("p", { class: "where" }, where)), more);
}

export function number(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${Math.round(value / 1e3)}k`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return String(Math.round(value || 0));
}

export function money(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toFixed(4)}` : value < 1 ? `$${value.toFixed(3)}` : `$${value.toFixed(2)}`;
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export function ago(at) {
  if (!at) return "";
  const seconds = Date.now() / 1000 - at;
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 7 * 86400) return `${Math.floor(seconds / 86400)} d`;
  return new Date(at * 1000).toISOString().slice(0, 10);
}

export function clock(at) {
  return at ? new Date(at * 1000).toLocaleString() : "";
}

// localStorage may be forbidden; then nothing is remembered.
export function remembered(name, fallback) {
  try { return localStorage.getItem(`joey-${name}`) ?? fallback; } catch { return fallback; }
}

export function remember(name, value) {
  try { localStorage.setItem(`joey-${name}`, value); } catch { /* nothing to do */ }
}

export function imageOf(block) {
  const kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
  if (!kinds.includes(block.media_type)) return el("p", { class: "note" }, "An image of an unknown kind.");
  return el("img", { class: "shown", alt: "Image", src: `data:${block.media_type};base64,${block.data}` });
}
