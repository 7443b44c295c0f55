"use strict";
// Everything that comes from a client or a model is shown as text, never as markup.

const byId = (id) => document.getElementById(id);
let chosen = null;

// What cannot be seen, or turns the order of what is seen around, is shown by its number.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const visible = (text) => String(text).replace(hidden, (letter) =>
  `\u2039U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u203a`);

const many = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

function cell(row, text) {
  const made = document.createElement("td");
  made.textContent = visible(text);
  row.append(made);
}

function rowOf(request) {
  const row = document.createElement("tr");
  row.tabIndex = 0;
  row.dataset.number = request.number;
  row.className = request.state;
  row.setAttribute("aria-selected", String(request.number === chosen));
  const calls = request.calls + (request.malformed ? ` (${request.malformed} malformed)` : "");
  const tokens = `${request.input_tokens} in (${request.cached_tokens} cached), ${request.output_tokens} out`;
  cell(row, request.number);
  cell(row, new Date(request.started * 1000).toLocaleTimeString());
  for (const name of ["wire", "client", "model", "state"]) cell(row, request[name]);
  cell(row, calls);
  cell(row, tokens);
  cell(row, request.seconds.toFixed(1));
  const choose = () => { chosen = request.number; refresh(); };
  row.addEventListener("click", choose);
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(); });
  return row;
}

function show(request) {
  byId("details").hidden = false;
  byId("title").textContent = `Request ${request.number}`;
  const facts = [
    `answered by ${request.upstream || "nobody"} in the protocol ${request.protocol || "-"}`,
    `${many(request.tool_names.length, "tool")}${request.tool_names.length ? ": " : ""}${request.tool_names.join(", ")}`,
    request.attempts > 1 ? `${request.attempts} attempts` : "",
    request.stop ? `stopped: ${request.stop}` : "",
    request.problem,
  ];
  byId("facts").textContent = visible(facts.filter(Boolean).join("; "));
  for (const name of ["wanted", "wrote", "made"]) byId(name).textContent = visible(request[name]);
  byId("replay").textContent = `curl -s ${location.origin}/requests/${request.number}/replay | joey parse --batch`;
}

async function load(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

async function refresh() {
  try {
    const requests = await load("requests");
    const rows = requests.map(rowOf);
    const focused = document.activeElement?.dataset.number;
    byId("requests").replaceChildren(...rows);
    rows.find((row) => row.dataset.number === focused)?.focus();
    byId("state").textContent = requests.length ? many(requests.length, "recent request") : "No requests yet.";
    if (chosen !== null) show(await load(`requests/${chosen}`));
  } catch (error) {
    byId("state").textContent = `The gateway does not answer (${error.message}).`;
  }
}

refresh();
setInterval(refresh, 1000);
