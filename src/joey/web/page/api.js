// The server: requests, and one stream of events. The page knows nothing that is not in this API.

import { remembered } from "./dom.js";

const ROOT = "/api/v1";

export async function request(path, method = "GET", body = undefined) {
  const options = { method, headers: { accept: "application/json" } };
  if (method !== "GET") {
    options.headers["content-type"] = "application/json";
    options.headers.authorization = `Bearer ${remembered("token", "")}`;
    options.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(ROOT + path, options);
  } catch {
    throw new Error("The server does not answer; is `joey web` still running?");
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(data.error || `The server answered ${answer.status}.`), { status: answer.status });
  return data;
}

export const get = (path) => request(path);
export const post = (path, body) => request(path, "POST", body);
export const remove = (path) => request(path, "DELETE");

// The browser reconnects by itself and says what it has seen last, so nothing is missed and nothing comes twice.
export function listen(taskId, place, handlers) {
  const query = new URLSearchParams(taskId ? { task: taskId, after: place } : {});
  const source = new EventSource(`${ROOT}/events?${query}`);
  for (const [name, handle] of Object.entries(handlers)) {
    if (name === "open" || name === "error") source.addEventListener(name, handle);
    else source.addEventListener(name, (event) => handle(JSON.parse(event.data), event.lastEventId));
  }
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) document.getElementById("offline").textContent = "The server does not accept this page any more; open the link that `joey web` printed last.";
  });
  return source;
}
