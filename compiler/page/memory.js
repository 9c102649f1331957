// ---- memory over time, and what lies beside it ----

// Each of several entries has a plan of its own; the report's is that of the one that needs most.
const entryAt = () => (facts.entries || []).find((e) => e.name === $("#memory-entry").value);
const regionName = (r) => (facts.memory.regions[r - 1] ? facts.memory.regions[r - 1].name : `region ${r}`);
// A block is called what it holds: the nodes that made it, with the name of the buffer beside where they have several; in less than
// `room` letters, or all.
function blockNames(blocks) {
  const made = (name) => (calls.find((call) => call.buffers.some((b, k) => call.access[k] !== "in" && root(b) === buffers.get(name))) || { location: name }).location;
  const node = (b) => ((buffers.get(b.buffer) || {}).location || made(b.buffer));
  const own = new Map();
  for (const b of blocks) own.set(node(b), (own.get(node(b)) || new Set()).add(b.buffer));
  return (b, room = Infinity) => {
    const several = own.get(node(b)).size > 1 ? ` (${b.buffer})` : "", [first, ...others] = node(b).split(", ");
    return node(b).length + several.length <= room || !others.length ? cut(node(b) + several, room) : cut(`${first}..${several}`, room);
  };
}

function drawMemory() {
  const svg = $("#memory-tab svg"), tip = $("#memory-tab .tip"), memory = (entryAt() || facts).memory;
  const regions = [...new Set(memory.in_use.map((b) => b.region))].sort((a, b) => a - b);
  const high = regions.map((r) => Math.max(...memory.in_use.filter((b) => b.region === r).map((b) => b.offset + b.bytes)));
  const bases = regions.map((_, k) => high.slice(0, k).reduce((sum, bytes) => sum + bytes, 0));
  const bytes = Math.max(1, high.reduce((sum, b) => sum + b, 0)), times = Math.max(1, memory.statements);
  const { width, height } = svg.getBoundingClientRect(), LEFT = 88, BOTTOM = 34, W = Math.max(100, width - LEFT - 8), H = Math.max(80, height - BOTTOM - 8);
  const x = (t) => LEFT + (t / times) * W, y = (b) => 8 + H - (b / bytes) * H;
  svg.textContent = "";
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const live = new Array(times).fill(0), called = blockNames(memory.in_use);
  memory.in_use.forEach((b, k) => {
    for (let t = b.from; t <= b.to; t++) live[t] += b.bytes;
    const base = bases[regions.indexOf(b.region)], left = x(b.from), wide = x(b.to + 1) - left, top = y(base + b.offset + b.bytes), tall = (b.bytes / bytes) * H;
    const rect = make(svg, "rect", { x: left, width: wide, y: top, height: tall, fill: `hsl(${(k * 67) % 360}, 55%, 78%)`, stroke: "#fff", "stroke-width": 0.5 });
    const about = `${called(b)}${called(b).includes(b.buffer) ? "" : ` (${b.buffer})`}: ${whole(b.bytes)} bytes at ${whole(b.offset)}${regions.length > 1 ? ` of ${b.region ? regionName(b.region) : "the workspace"}` : ""}, ` +
      `in use from statement ${b.from} to ${b.to}`;
    for (const [name, value] of [["tabindex", 0], ["role", "img"], ["aria-label", about]]) rect.setAttribute(name, value);
    rect.onmouseenter = rect.onfocus = () => (tip.textContent = about);
    const room = Math.floor((wide - 6) / 6.4);
    if (room >= 4 && tall >= 13) make(svg, "text", { x: left + 3, y: top + Math.min(tall - 3, 12), class: "block" }, called(b, room));
  });
  for (let k = 0; k <= 4; k++) {                          // axes
    make(svg, "text", { x: LEFT - 6, y: y((bytes * k) / 4) + 4, "text-anchor": "end" }, scaled(Math.round((bytes * k) / 4), "B"));
    const t = Math.round((times * k) / 4);
    make(svg, "text", { x: x(t), y: H + 24, "text-anchor": k === 4 ? "end" : "middle" }, String(t));
  }
  make(svg, "text", { x: LEFT + W / 2, y: H + 38, "text-anchor": "middle" }, "statements of main, in order");
  make(svg, "text", { x: 0, y: 0, transform: `translate(12,${8 + H / 2}) rotate(-90)`, "text-anchor": "middle" }, "bytes of the workspace, by address");
  const peak = live.indexOf(Math.max(0, ...live));
  if (memory.in_use.length) make(svg, "line", { id: "peak", x1: x(peak + 0.5), x2: x(peak + 0.5), y1: 8, y2: 8 + H, "stroke-dasharray": "5 4" });
  $("#memory-facts").textContent = memory.in_use.length
    ? `workspace ${whole((entryAt() || facts).workspace)} bytes; at the peak (statement ${peak} of ${times}) ${whole(live[peak] || 0)} are in use.`
    : "no workspace is needed";
}

draw.memory = () => {
  for (const e of facts.entries || []) make($("#memory-entry"), "option", {}, e.name);
  $("#memory-of").hidden = !facts.entries;
  $("#memory-entry").onchange = drawMemory;
  drawMemory();
  addEventListener("resize", () => $("#memory-tab").classList.contains("on") && drawMemory());
  const ports = facts.buffers.filter((b) => b.port), count = facts.buffers.filter((b) => b.space === "constant").length;
  const rows = [...ports.map((b) => ({ name: b.port, what: b.space, elements: `${whole(b.elements)} ${b.element}`, bytes: b.bytes })),
    { name: `${count} constants`, what: "weights", elements: "", bytes: facts.constants }].map((row, index) => ({ ...row, index }));
  const largest = Math.max(1, ...rows.map((row) => row.bytes));
  table("#memory-tab", [
    { name: "name", key: "name" },
    { name: "", key: "what" },
    { name: "elements", key: "elements", number: true },
    { name: "bytes", key: "bytes", number: true, text: (row) => whole(row.bytes) },
    { name: "", key: "bytes", bar: (row) => row.bytes / largest },
  ], rows);
};
