// Markdown to nodes. Nothing in it becomes markup: tags are text, links lead to http(s) and mailto only, and images of
// other hosts are links. While it streams, only the block that still grows is drawn again, so the work is linear.

import { el, visible } from "./dom.js";
import { highlight } from "./highlight.js";

const MAX_OPEN = 4000;
const MAX_DEPTH = 12;
const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__(?!\w)|\*(?=[^\s*])([^*\n]*?[^\s*])\*|(?<!\w)_(?=[^\s_])([^_\n]*?[^\s_])_(?!\w)|~~(?=\S)([\s\S]*?\S)~~|!?\[([^\]\n]{0,500})\]\(([^()\s]{1,2000}(?:\([^()\s]{0,500}\))?[^()\s]{0,2000})(?:\s+"[^"\n]*")?\)|<?(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])>?/g;

function safeLink(address) {
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : null;
}

function link(label, address) {
  const safe = safeLink(address);
  if (!safe) return el("span", {}, `${label} (${address})`);
  return el("a", { href: safe, target: "_blank", rel: "noopener noreferrer" }, label || address);
}

export function inline(given, depth = 0) {
  const text = visible(given);
  const into = document.createDocumentFragment();
  if (depth > 4 || text.length > 20000) {
    into.append(text);
    return into;
  }
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index < end) continue;
    into.append(text.slice(end, found.index));
    const [all, , code, strong, strong2, emphasis, emphasis2, gone, label, address, bare] = found;
    if (code !== undefined) into.append(el("code", {}, code.replace(/^ (.*[^ ].*) $/s, "$1")));
    else if (strong ?? strong2) into.append(el("strong", {}, inline(strong ?? strong2, depth + 1)));
    else if (emphasis ?? emphasis2) into.append(el("em", {}, inline(emphasis ?? emphasis2, depth + 1)));
    else if (gone) into.append(el("s", {}, inline(gone, depth + 1)));
    else if (address !== undefined) into.append(link(label, address));
    else into.append(link(bare, bare));
    end = found.index + all.length;
  }
  into.append(text.slice(end));
  return into;
}

export function codeBlock(code, language) {
  const inner = el("code", {}, highlight(code, language));
  return el("pre", { class: "code", tabindex: "0", dataset: { language: language || "" } }, inner);
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function list(lines, depth) {
  const first = lines[0].match(ITEM);
  const ordered = /\d/.test(first[2]);
  const items = [];
  for (const line of lines) {
    const found = line.match(ITEM);
    if (found && found[1].length <= first[1].length) items.push({ text: found[3], below: [] });
    else items[items.length - 1].below.push(line.slice(Math.min(first[1].length + 2, line.search(/\S|$/))));
  }
  const start = ordered ? parseInt(first[2], 10) : 1;
  return el(ordered ? "ol" : "ul", start > 1 ? { start: String(start) } : {}, items.map((item) => {
    const task = item.text.match(/^\[([ xX])\]\s+(.*)$/);
    const words = inline(task ? task[2] : item.text);
    const box = task ? el("span", { class: task[1] === " " ? "box" : "box done" }, task[1] === " " ? "☐ " : "☑ ") : null;
    return el("li", {}, box, words, item.below.length ? blocks(item.below, depth) : null);
  }));
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((each) => each.trim().replace(/\\\|/g, "|"));
}

function table(lines) {
  const sides = cells(lines[1]).map((each) => (/^:-+:$/.test(each) ? "center" : /-:$/.test(each) ? "right" : ""));
  const row = (line, tag) => el("tr", {}, cells(line).map((each, at) => el(tag, { class: sides[at] || "" }, inline(each))));
  const body = lines.slice(2).map((line) => row(line, "td"));
  return el("div", { class: "table", tabindex: "0" }, el("table", {}, el("thead", {}, row(lines[0], "th")), el("tbody", {}, body)));
}

function isTable(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1]) && lines[at + 1].includes("-");
}

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;

function blocks(lines, depth = 0) {
  const into = document.createDocumentFragment();
  if (depth > MAX_DEPTH) {
    into.append(el("p", {}, lines.join("\n")));
    return into;
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = line.match(FENCE);
    const heading = line.match(/^(#{1,6})\s+(.*?)\s*#*$/);
    if (!line.trim()) at += 1;
    else if (fence) {
      let end = at + 1;
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
      into.append(codeBlock(lines.slice(at + 1, end).join("\n"), fence[2]));
      at = end + 1;
    } else if (heading) {
      into.append(el(`h${Math.min(heading[1].length + 2, 6)}`, {}, inline(heading[2])));
      at += 1;
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      into.append(el("hr"));
      at += 1;
    } else if (isTable(lines, at)) {
      let end = at + 2;
      while (end < lines.length && lines[end].includes("|")) end += 1;
      into.append(table(lines.slice(at, end)));
      at = end;
    } else if (/^\s{0,3}>/.test(line)) {
      let end = at;
      while (end < lines.length && /^\s{0,3}>/.test(lines[end])) end += 1;
      into.append(el("blockquote", {}, blocks(lines.slice(at, end).map((each) => each.replace(/^\s{0,3}> ?/, "")), depth + 1)));
      at = end;
    } else if (ITEM.test(line)) {
      let end = at + 1;
      while (end < lines.length && (ITEM.test(lines[end]) || /^\s{2,}\S/.test(lines[end]))) end += 1;
      into.append(list(lines.slice(at, end), depth + 1));
      at = end;
    } else {
      let end = at + 1;
      while (end < lines.length && lines[end].trim() && !/^(#{1,6}\s|\s{0,3}>|\s{0,3}(`{3,}|~{3,}))/.test(lines[end]) && !ITEM.test(lines[end]) && !isTable(lines, end)) end += 1;
      into.append(el("p", {}, inline(lines.slice(at, end).join("\n"))));
      at = end;
    }
  }
  return into;
}

export function renderMarkdown(text) {
  const node = el("div", { class: "md" });
  const stream = new MarkdownStream(node);
  stream.push(text);
  stream.end();
  return node;
}

// Text that comes in pieces. What is complete stays; the open block is drawn again, at most once a frame.
export class MarkdownStream {
  constructor(node) {
    this.node = node;
    this.open = el("div", { class: "open" });
    node.append(this.open);
    this.tail = "";
    this.waiting = [];
    this.code = null;
    this.scheduled = false;
  }

  push(text) {
    this.waiting.push(visible(text));
    if (!this.scheduled) {
      this.scheduled = true;
      queueMicrotask(() => { this.scheduled = false; this.settle(false); });
    }
  }

  settle(ending) {
    if (this.node === null) return;
    const text = this.waiting.join("");
    this.waiting = [];
    // In bounded pieces: each step looks at the open block only, however much came at once.
    for (let at = 0; at < text.length; at += MAX_OPEN) {
      this.tail += text.slice(at, at + MAX_OPEN);
      this.steps(false);
    }
    if (ending) this.steps(true);
    if (!this.code && !ending) this.open.replaceChildren(blocks(this.tail.split("\n")));
  }

  steps(ending) {
    while (this.code ? this.inCode(ending) : this.inText(ending)) { /* the next block */ }
  }

  // One step; whether there may be another.
  inText(ending) {
    const fence = this.tail.match(/(^|\n)(\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^\n]*)\n/);
    const cut = this.tail.search(/\n[ \t]*\n(?=\S)/);
    if (fence && (cut < 0 || fence.index < cut)) {
      this.finish(this.tail.slice(0, fence.index));
      this.tail = this.tail.slice(fence.index + fence[0].length);
      this.code = { mark: fence[3], language: fence[4], text: [], node: document.createTextNode("") };
      this.code.pre = el("pre", { class: "code", tabindex: "0", dataset: { language: fence[4] } }, el("code", {}, this.code.node));
      this.open.before(this.code.pre);
      return true;
    }
    if (cut >= 0) {
      this.finish(this.tail.slice(0, cut));
      this.tail = this.tail.slice(cut).replace(/^\s*\n/, "");
      return true;
    }
    const last = this.tail.lastIndexOf("\n");
    if (this.tail.length > MAX_OPEN) {
      const end = last > 0 ? last + 1 : this.tail.length;
      this.finish(this.tail.slice(0, end));
      this.tail = this.tail.slice(end);
      return false;
    }
    if (ending) {
      this.finish(this.tail);
      this.tail = "";
    }
    return false;
  }

  inCode(ending) {
    const code = this.code;
    const close = new RegExp(`(^|\\n)[ \\t]*${code.mark[0] === "\`" ? "\`" : "~"}{${code.mark.length},}[ \\t]*(\\n|$)`);
    const found = this.tail.match(close);
    if (found && (ending || found[0].endsWith("\n"))) {
      this.addCode(this.tail.slice(0, found.index));
      this.tail = this.tail.slice(found.index + found[0].length);
      this.closeCode();
      return true;
    }
    // The last line may be the beginning of the end mark.
    const last = ending ? this.tail.length : this.tail.lastIndexOf("\n");
    if (last > 0) {
      this.addCode(this.tail.slice(0, last));
      this.tail = this.tail.slice(last);
    }
    if (ending) this.closeCode();
    return false;
  }

  addCode(text) {
    this.code.text.push(text);
    this.code.node.appendData(text);
  }

  closeCode() {
    const { pre, text, language } = this.code;
    pre.firstChild.replaceChildren(highlight(text.join("").replace(/\n$/, ""), language));
    this.code = null;
  }

  finish(text) {
    if (text.trim()) this.open.before(blocks(text.split("\n")));
    this.open.replaceChildren();
  }

  end() {
    this.settle(true);
    this.open.remove();
    this.node = null;
  }
}
