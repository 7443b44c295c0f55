// A task over time, and its cost and context over turns: drawn, since people would rather look than read.

import { clock, duration, el, factList, money, number, svg } from "./dom.js";

const WIDTH = 720;
const MAX_BARS = 400;

function bar(x, width, y, height, kind, words) {
  return svg("rect", { x: x.toFixed(2), width: Math.max(width, 1).toFixed(2), y, height, rx: 2, class: `bar ${kind}` }, svg("title", {}, words));
}

// Where each turn spent its time: the model, waiting, tools.
function gantt(turns) {
  const start = turns[0].start;
  const last = turns[turns.length - 1];
  const end = Math.max(last.end, ...last.calls.map((call) => call.end ?? call.start));
  const scale = (WIDTH - 130) / Math.max(end - start, 0.001);
  const at = (time) => 120 + (time - start) * scale;
  const rows = turns.slice(-MAX_BARS);
  const height = rows.length * 18 + 24;
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": `Timeline of ${turns.length} turns over ${duration(end - start)}` });
  rows.forEach((turn, row) => {
    const y = row * 18 + 4;
    const names = [...new Set(turn.calls.map((call) => call.name))].join(", ");
    chart.append(svg("text", { x: 0, y: y + 10, class: "label" }, `${turns.length - rows.length + row + 1}  ${names}`.slice(0, 20)));
    chart.append(bar(at(turn.start), (turn.end - turn.start) * scale, y, 12, "model", `Model: ${duration(turn.end - turn.start)}`));
    for (const call of turn.calls) {
      const until = call.end ?? call.start;
      if (call.waited > 0.3) chart.append(bar(at(call.start - call.waited), call.waited * scale, y + 4, 4, "wait", `Waited ${duration(call.waited)} before ${call.name}`));
      chart.append(bar(at(call.start), (until - call.start) * scale, y, 12, call.error ? "tool bad" : "tool", `${call.name}: ${duration(until - call.start)}`));
    }
  });
  chart.append(svg("text", { x: 120, y: height - 4, class: "label" }, clock(start)));
  chart.append(svg("text", { x: WIDTH, y: height - 4, class: "label end" }, duration(end - start)));
  return chart;
}

// Context as an area and cost as a line, both over turns.
function curves(turns, limit) {
  const height = 150;
  const most = Math.max(...turns.map((turn) => turn.context), 1);
  let spent = 0;
  const costs = turns.map((turn) => (spent += turn.cost ?? 0));
  const x = (at) => (turns.length === 1 ? WIDTH / 2 : 4 + (at * (WIDTH - 8)) / (turns.length - 1));
  const points = (values, top) => values.map((value, at) => `${x(at).toFixed(1)},${(height - 6 - (value / top) * (height - 30)).toFixed(1)}`).join(" ");
  const words = `Context grew to ${number(most)} tokens${limit ? ` of ${number(limit)}` : ""}; cost ${money(spent) || "unknown"}`;
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": words });
  const contexts = points(turns.map((turn) => turn.context), most);
  chart.append(svg("polygon", { points: `${x(0)},${height - 6} ${contexts} ${x(turns.length - 1)},${height - 6}`, class: "area" }), svg("polyline", { points: contexts, class: "line context" }));
  if (spent) chart.append(svg("polyline", { points: points(costs, spent), class: "line cost" }));
  turns.forEach((turn, at) => {
    if (turns.length <= 200) chart.append(svg("circle", { cx: x(at), cy: height - 6 - (turn.context / most) * (height - 30), r: 3, class: "point" }, svg("title", {}, `Turn ${at + 1}: ${number(turn.context)} tokens${turn.cost === null ? "" : `, ${money(turn.cost)}`}`)));
  });
  return chart;
}

// What was spent until each moment, of [time, cost] in order.
export function costChart(points) {
  const height = 120;
  const [start, end] = [points[0][0], points[points.length - 1][0]];
  let spent = 0;
  const steps = points.map(([at, cost]) => [at, (spent += cost)]);
  const x = (at) => (end > start ? 4 + ((at - start) * (WIDTH - 8)) / (end - start) : WIDTH / 2).toFixed(1);
  const y = (cost) => (height - 22 - (cost / Math.max(spent, 1e-9)) * (height - 34)).toFixed(1);
  const line = steps.flatMap(([at, cost], n) => [`${x(at)},${y(n ? steps[n - 1][1] : 0)}`, `${x(at)},${y(cost)}`]).join(" ");
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": `Cost over time: ${money(spent)} between ${clock(start)} and ${clock(end)}` },
    svg("polygon", { points: `${x(start)},${y(0)} ${line} ${x(end)},${y(0)}`, class: "area" }), svg("polyline", { points: line, class: "line context" }),
    svg("text", { x: 4, y: height - 4, class: "label" }, clock(start)), svg("text", { x: WIDTH, y: height - 4, class: "label end" }, `${clock(end)} · ${money(spent)}`));
}

function legend(...parts) {
  return el("p", { class: "legend" }, parts.map(([kind, words]) => el("span", {}, el("i", { class: `swatch ${kind}` }), words)));
}

export function renderTimeline(turns, limit) {
  if (!turns.length) return el("p", { class: "empty" }, "Nothing has happened yet.");
  const total = turns.reduce((sum, turn) => sum + (turn.cost ?? 0), 0);
  const model = turns.reduce((sum, turn) => sum + (turn.end - turn.start), 0);
  const calls = turns.flatMap((turn) => turn.calls);
  const tools = calls.reduce((sum, call) => sum + ((call.end ?? call.start) - call.start), 0);
  const waited = calls.reduce((sum, call) => sum + call.waited, 0);
  const facts = [["Turns", String(turns.length)], ["Model", duration(model)], ["Tools", duration(tools)], ["Waited", duration(waited)], ["Cost", money(total) || "–"]];
  return el("div", { class: "timeline" },
    factList(facts),
    el("h3", {}, "Context and cost over turns"), curves(turns, limit), legend(["context", "context of each request"], ["cost", "cost so far"]),
    el("h3", {}, "Turns"), gantt(turns), legend(["model", "model"], ["tool", "tools"], ["bad", "failed"], ["wait", "waiting"]));
}

// Many tasks side by side: when each began and when something happened in it last.
export function renderOverview(tasks) {
  const shown = [...tasks].filter((each) => each.started).sort((a, b) => b.changed - a.changed).slice(0, 60);
  if (!shown.length) return el("p", { class: "empty" }, "No tasks yet.");
  const start = Math.min(...shown.map((each) => each.started));
  const end = Math.max(...shown.map((each) => each.changed));
  const scale = (WIDTH - 250) / Math.max(end - start, 1);
  const height = shown.length * 22 + 24;
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "group", "aria-label": `When ${shown.length} tasks ran` });
  shown.forEach((task, row) => {
    const kind = { waiting: "wait", running: "model", error: "tool bad" }[task.status] ?? "tool";
    const words = `${task.title}: ${duration(task.changed - task.started)}, ${task.turns} turns ${money(task.cost)}`;
    const anchor = svg("a", { href: `#/task/${task.id}` }, svg("text", { x: 0, y: row * 22 + 15, class: "label strong" }, task.title.slice(0, 34)), bar(240 + (task.started - start) * scale, (task.changed - task.started) * scale, row * 22 + 5, 12, kind, words));
    chart.append(anchor);
  });
  chart.append(svg("text", { x: 240, y: height - 4, class: "label" }, clock(start)), svg("text", { x: WIDTH, y: height - 4, class: "label end" }, clock(end)));
  const cost = tasks.reduce((sum, task) => sum + (task.cost ?? 0), 0);
  const facts = [["Tasks", String(tasks.length)], ["Running", String(tasks.filter((each) => each.run).length)], ["Waiting", String(tasks.filter((each) => each.status === "waiting").length)], ["Cost", money(cost)]];
  return el("div", { class: "timeline" }, factList(facts), chart);
}
