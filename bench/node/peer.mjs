// node peer.mjs PEER SECONDS < text: feeds the text to a peer, four characters at a time, and prints the CPU seconds it
// took, or how far it came when the time was up, as JSON.
import { readFileSync } from "node:fs";

const PIECE = 4;
const [peer, limit] = [process.argv[2], Number(process.argv[3])];
const text = readFileSync(0, "utf8");
const tools = [
  {
    type: "function",
    name: "write_to_file",
    inputSchema: { type: "object", properties: { path: { type: "string" }, file_text: { type: "string" } } },
  },
];

const peers = {
  "json_mix 2.1.7": async () => streaming((await import("ai-sdk-tool-parser-2")).jsonMixProtocol()),
  "morph_xml 2.1.7": async () => streaming((await import("ai-sdk-tool-parser-2")).morphXmlProtocol()),
  "json_mix 4.1.26": async () => streaming((await import("@ai-sdk-tool/parser")).hermesProtocol()),
  "morph_xml 4.1.26": async () => streaming((await import("@ai-sdk-tool/parser")).morphXmlProtocol()),
  "partial-json": async () => reparsing((await import("partial-json")).parse),
};

function streaming(protocol) {
  return async (watch) => {
    const stream = protocol.createStreamParser({ tools, options: {} });
    const reader = stream.readable.getReader();
    const drained = (async () => {
      while (!(await reader.read()).done);
    })();
    const writer = stream.writable.getWriter();
    for (let at = 0; at < text.length && watch(at); at += PIECE) {
      await writer.write({ type: "text-delta", id: "1", delta: text.slice(at, at + PIECE) });
    }
    await writer.close();
    await drained;
  };
}

function reparsing(parse) {
  return async (watch) => {
    for (let at = 0; at < text.length && watch(at); at += PIECE) parse(text.slice(0, at + PIECE) || "{");
  };
}

const run = await peers[peer]();
const start = process.cpuUsage();
const seconds = () => {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
};
let came = 1;
await run((at) => {
  if (at % 1024 === 0 && seconds() > limit) came = at / text.length;
  return came === 1;
});
console.log(JSON.stringify({ seconds: seconds(), came }));
process.exit(0);
