// The output of commands, with the colours that a terminal would show. What a terminal would obey is dropped.

import { el, visible } from "./dom.js";

const CONTROL = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[@-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)/g;
const MAX_OUTPUT = 400000;

// Any colour becomes the nearest of the eight that can be read on our background, dark or light.
function nearest([red = 0, green = 0, blue = 0]) {
  const max = Math.max(red, green, blue);
  if (max - Math.min(red, green, blue) < 40) return max < 100 ? 0 : 7;
  return (red > max * 0.6 ? 1 : 0) + (green > max * 0.6 ? 2 : 0) + (blue > max * 0.6 ? 4 : 0);
}

function ofPalette(code) {
  if (!(code >= 0 && code <= 255)) return null;
  if (code < 16) return code % 8;
  const grey = (code - 232) * 10 + 8;
  const steps = [0, 95, 135, 175, 215, 255];
  const cube = code - 16;
  return nearest(code >= 232 ? [grey, grey, grey] : [steps[Math.floor(cube / 36)], steps[Math.floor(cube / 6) % 6], steps[cube % 6]]);
}

export class AnsiText {
  constructor(node) {
    this.node = node;
    this.style = {};
    this.rest = "";
    this.length = 0;
    this.last = null;
    this.line = [];
    this.again = false;
  }

  push(text) {
    if (this.length > MAX_OUTPUT) return;
    text = this.rest + text;
    const cut = text.search(/\x1b(?:\[[0-9;:]*|\][^\x07\x1b]{0,200})?$|\r$/);
    this.rest = cut >= 0 ? text.slice(cut) : "";
    if (cut >= 0) text = text.slice(0, cut);
    let end = 0;
    for (const found of text.matchAll(CONTROL)) {
      this.add(text.slice(end, found.index));
      end = found.index + found[0].length;
      if (found[1] !== undefined) this.take(found[1]);
      else if (found[0] === "\r") this.again = true;
    }
    this.add(text.slice(end));
  }

  // A return to the start of the line: what comes next is written over it, as progress bars want.
  startAgain() {
    this.again = false;
    this.line.forEach(({ text, start }, at) => { if (at) text.data = ""; else text.data = text.data.slice(0, start); });
    this.line = this.line.slice(0, 1);
    this.last = this.line.length ? this.last : null;
  }

  add(text) {
    if (!text) return;
    text = visible(text);
    if (this.again && text[0] !== "\n") this.startAgain();
    this.again = false;
    this.length += text.length;
    const name = ["fg", "bg", "bold", "dim", "italic", "under", "strike"].map((each) => this.style[each]).filter(Boolean).join(" ");
    if (!this.last || this.last.name !== name) {
      const node = document.createTextNode("");
      this.node.append(name ? el("span", { class: name }, node) : node);
      this.last = { name, text: node };
    }
    const end = text.lastIndexOf("\n");
    const before = this.last.text.length;
    this.last.text.appendData(text);
    if (end >= 0) this.line = [{ text: this.last.text, start: before + end + 1 }];
    else if (this.line.at(-1)?.text !== this.last.text) this.line.push({ text: this.last.text, start: before });
    if (this.length > MAX_OUTPUT) this.node.append(el("span", { class: "note" }, "\n… the rest is in the result"));
  }

  take(codes) {
    const list = codes.split(/[;:]/).map(Number);
    for (let at = 0; at < list.length; at += 1) {
      const code = list[at];
      if (code === 0) this.style = {};
      else if (code === 1) this.style.bold = "a-bold";
      else if (code === 2) this.style.dim = "a-dim";
      else if (code === 3) this.style.italic = "a-italic";
      else if (code === 4) this.style.under = "a-under";
      else if (code === 7) this.style.bg = "a-bg-7";
      else if (code === 9) this.style.strike = "a-strike";
      else if (code === 23) delete this.style.italic;
      else if (code === 27) delete this.style.bg;
      else if (code === 29) delete this.style.strike;
      else if (code === 22) { delete this.style.bold; delete this.style.dim; }
      else if (code === 24) delete this.style.under;
      else if (code === 39) delete this.style.fg;
      else if (code === 49) delete this.style.bg;
      else if (code === 38 || code === 48) {
        const [kind, ...values] = list.slice(at + 1, at + 5);
        const near = kind === 5 ? ofPalette(values[0]) : kind === 2 ? nearest(values) : null;
        if (near !== null) this.style[code === 38 ? "fg" : "bg"] = code === 38 ? `a-${near}` : `a-bg-${near}`;
        at += kind === 5 ? 2 : kind === 2 ? 4 : 0;
      }
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) this.style.fg = `a-${code % 10}`;
      else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) this.style.bg = `a-bg-${code % 10}`;
    }
  }
}

export function output(text) {
  const node = el("pre", { class: "output", tabindex: "0" });
  new AnsiText(node).push(text);
  return node;
}
