// A unified diff, inline or side by side. Only text; a diff that cannot be read is shown as it is.

import { button, el, remember, remembered } from "./dom.js";

const MAX_LINES = 1500;

function parse(diff) {
  const rows = [];
  let before = 0;
  let after = 0;
  for (const line of diff.split("\n")) {
    const hunk = line.match(/^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      rows.push({ kind: "hunk", text: hunk[3].trim() || `line ${after}` });
    } else if (/^(--- |\+\+\+ |diff |index |new file|deleted file)/.test(line) && !(line.startsWith("--- ") && before && rows.length && rows[rows.length - 1].kind !== "file")) {
      if (line.startsWith("+++ ") || line.startsWith("diff ")) rows.push({ kind: "file", text: line.replace(/^(\+\+\+ |diff --git )(b\/)?/, "").replace(/\t.*/, "") });
      before = after = 0;
    } else if (line.startsWith("+")) rows.push({ kind: "add", after: after++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "del", before: before++, text: line.slice(1) });
    else if (line.startsWith("\\")) rows.push({ kind: "hunk", text: line.slice(2) });
    else if (before || after) rows.push({ kind: "same", before: before++, after: after++, text: line.slice(1) });
    else if (line) rows.push({ kind: "hunk", text: line });
  }
  while (rows.length && rows[rows.length - 1].kind === "same" && !rows[rows.length - 1].text) rows.pop();
  return rows;
}

function cell(row, side) {
  const shown = row && (side === "old" ? row.kind !== "add" : row.kind !== "del");
  const line = shown ? (side === "old" ? row.before : row.after) : "";
  return [
    el("td", { class: "ln", "aria-hidden": "true" }, String(line ?? "")),
    el("td", { class: shown ? `t ${row.kind}` : "t none" }, shown ? row.text : ""),
  ];
}

function pairs(rows) {
  const found = [];
  for (let at = 0; at < rows.length; ) {
    if (rows[at].kind === "del" || rows[at].kind === "add") {
      const gone = [];
      const come = [];
      while (at < rows.length && rows[at].kind === "del") gone.push(rows[at++]);
      while (at < rows.length && rows[at].kind === "add") come.push(rows[at++]);
      for (let n = 0; n < Math.max(gone.length, come.length); n += 1) found.push([gone[n], come[n]]);
    } else found.push([rows[at], rows[at++]]);
  }
  return found;
}

function drawn(rows, mode) {
  const wide = mode === "split";
  const body = el("tbody");
  const shown = rows.slice(0, MAX_LINES);
  for (const pair of wide ? pairs(shown) : shown.map((row) => [row])) {
    const row = pair[0] ?? pair[1];
    if (row.kind === "hunk" || row.kind === "file") {
      body.append(el("tr", { class: row.kind }, el("td", { colspan: "4" }, row.text)));
    } else if (wide) body.append(el("tr", {}, cell(pair[0], "old"), cell(pair[1], "new")));
    else {
      const mark = { add: "+", del: "−", same: " " }[row.kind];
      body.append(el("tr", { class: row.kind }, el("td", { class: "ln" }, String(row.before ?? "")), el("td", { class: "ln" }, String(row.after ?? "")), el("td", { class: "mark" }, mark), el("td", { class: "t" }, row.text)));
    }
  }
  const columns = wide ? el("colgroup", {}, ["narrow", "", "narrow", ""].map((each) => el("col", { class: each }))) : null;
  return el("table", { class: wide ? "diff split" : "diff" }, columns, body);
}

export function renderDiff(path, diff, cut) {
  const found = parse(diff);
  const rows = path === null ? found : found.filter((row) => row.kind !== "file");
  const counts = { add: rows.filter((row) => row.kind === "add").length, del: rows.filter((row) => row.kind === "del").length };
  const body = el("div", { class: "diff-body", tabindex: "0" });
  const toggle = button("Side by side", () => draw(mode() === "split" ? "inline" : "split"), { class: "quiet small" });
  const mode = () => body.dataset.mode;
  const draw = (next, keep = true) => {
    body.dataset.mode = next;
    if (keep) remember("diff", next);
    toggle.textContent = next === "split" ? "Inline" : "Side by side";
    body.replaceChildren(drawn(rows, next));
  };
  draw(remembered("diff", "inline"), false);
  const more = rows.length > MAX_LINES || cut ? el("p", { class: "note" }, "Only a part of this diff is shown.") : null;
  const head = el("div", { class: "diff-head" }, el("span", { class: "path" }, path), el("span", { class: "plus" }, `+${counts.add}`), el("span", { class: "minus" }, `−${counts.del}`), toggle);
  return el("div", { class: "diff-block" }, path === null ? null : head, body, more);
}
