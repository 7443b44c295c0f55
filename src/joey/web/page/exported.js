// A finished task in one file, as the page shows it.

import { clock, el, money, number } from "./dom.js";
import { renderTimeline } from "./timeline.js";
import { Transcript } from "./transcript.js";

const exported = JSON.parse(document.getElementById("data").textContent);
const shownTask = exported.task;
const wholeTranscript = new Transcript(shownTask.id, {
  tools: exported.tools, live: false, opens: false,
  loadChild: (id, child) => {
    for (const event of exported.children[id] ?? []) child.apply(event);
    child.close();
  },
});
for (const event of exported.events) wholeTranscript.apply(event);
wholeTranscript.close();
const tokensIn = shownTask.usage.input_tokens + shownTask.usage.cache_read_tokens + shownTask.usage.cache_write_tokens;
const aboutTask = [shownTask.model, clock(shownTask.started), `${shownTask.turns} turns`, `${number(tokensIn)} tokens in`, `${number(shownTask.usage.output_tokens)} out`, money(shownTask.cost)];
document.getElementById("main").append(
  el("header", { class: "task-head" }, el("div", { class: "heading" }, el("h1", {}, shownTask.title), el("p", { class: "where" }, aboutTask.filter(Boolean).join(" · ")))),
  wholeTranscript.node,
  el("details", { class: "export-timeline" }, el("summary", {}, "Timeline"), renderTimeline(exported.turns, null)));
