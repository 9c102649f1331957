// ---- kernels: a table, and a panel for one ----

const timed = calls.length > 0 && calls.every((call) => call.seconds > 0);
let refillKernels = null;
draw.kernels = () => {
  const cycles = total("cycles"), seconds = timed && total("seconds"), time = timed ? "seconds" : "cycles";
  const longest = Math.max(1e-30, ...calls.map((c) => c[time]));
  refillKernels = table("#kernels-tab", [
    { name: "#", key: "index", number: true },
    { name: "kernel", key: "kernel" },
    ...(facts.entries ? [{ name: "entry", key: "entry" }] : []),
    { name: "share", key: time, bar: (c) => c[time] / longest },
    ...(timed ? [
      { name: "measured µs", key: "seconds", number: true, text: (c) => (c.seconds * 1e6).toFixed(1) },
      { name: "of all", key: "seconds", number: true, text: (c) => percent(c.seconds, seconds) },
    ] : []),
    { name: "predicted cycles", key: "cycles", number: true, text: (c) => whole(c.cycles) },
    { name: "of all", key: "cycles", number: true, text: (c) => percent(c.cycles, cycles) },
    { name: "FLOP", key: "flops", number: true, text: (c) => whole(c.flops) },
    { name: "nodes of the model", key: "location", clamp: true },
    { name: "operation and shapes", key: "summary", clamp: true },
    { name: "FLOP/B", key: "intensity", number: true, text: (c) => c.intensity.toFixed(2) },
    { name: "read", key: "read", number: true, text: (c) => whole(c.read) },
    { name: "of it constant", key: "constants", number: true, text: (c) => whole(c.constants) },
    { name: "written", key: "written", number: true, text: (c) => whole(c.written) },
    { name: "schedule", key: "schedule", clamp: true },
  ], [...calls], (call) => showKernel(call.index));
  if (facts.floats.length) make($("#floats"), "h2", {}, "Quantized layers in floats");
  for (const layer of facts.floats) make($("#floats"), "div", {}, `${layer.location} (${layer.operation}): ${layer.why}`);
  $("#filter").oninput = () => {
    const part = $("#filter").value.toLowerCase();
    refillKernels((c) => `${c.kernel} ${c.location} ${c.summary}`.toLowerCase().includes(part));
  };
};

const escaped = (name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
function showKernel(index) {
  show("kernels");
  history.replaceState(null, "", `#kernels/${index}`);
  $("#filter").value = "";
  refillKernels(null);
  mark("#kernels-tab", index);
  const call = calls[index], panel = $("#kernel");
  panel.hidden = false;
  panel.parentNode.classList.add("open");
  panel.textContent = "";
  make(panel, "h2", {}, call.kernel);
  const list = make(panel, "dl");
  const entry = (name, value) => {
    make(list, "dt", {}, name);
    return make(list, "dd", {}, value);
  };
  const nodes = entry("nodes");
  call.nodes.forEach((node, k) => {
    if (k) nodes.append(", ");
    const link = make(nodes, "a", { tabindex: 0, role: "link" }, node);
    onPress(link, () => showNode(node));
  });
  entry("operation", call.summary);
  entry("schedule", call.schedule || "none: the canonical nest");
  const own = new Set(call.nodes), said = (pass) => facts.remarks.filter((r) => r.pass === pass);
  const tell = (name, remarks, text) => {
    const lines = new Set(remarks.map(text));
    const where = lines.size ? entry(name) : null;
    for (const line of lines) make(where, "div", {}, line);
  };
  const what = (r) => `${r.location} (${r.operation}): ${r.why}${r.detail ? `: ${r.detail}` : ""}`;
  tell("chosen", said("schedule").filter((r) => own.has(r.location)), what);
  tell("layout", said("layout").filter((r) => own.has(r.location)), what);
  entry("predicted", `${whole(call.cycles)} cycles, ${percent(call.cycles, total("cycles"))} of all; ${scaled(call.flops, "FLOP")}, ${scaled(call.bytes, "B")}`);
  for (const l of call.launches || []) {
    entry("launch", `${whole(l.blocks)} blocks of ${l.threads} threads, ${l.registers ? `${l.registers} registers, ` : ""}${scaled(l.shared, "B")} of shared memory; ` +
      `${l.resident} at a time on a multiprocessor, in ${whole(l.waves)} ${l.waves > 1 ? "waves" : "wave"}; ${l.microseconds.toFixed(1)} µs predicted`);
  }
  if (timed) entry("measured", `${(call.seconds * 1e6).toFixed(1)} µs, ${percent(call.seconds, total("seconds"))} of all`);
  const shared = calls.filter((other) => other.kernel === call.kernel);
  if (shared.length > 1) entry("calls", shared.map((other) => `#${other.index}`).join(", "));
  const memory = entry("buffers");
  call.buffers.forEach((name, k) => {
    const b = root(name);
    make(memory, "div", {}, `${call.access[k]} ${name}${b && b.name !== name ? ` (part of ${b.name})` : ""}${b ? `, ${b.space}, ${scaled(b.bytes, "B")}` : ""}`);
  });
  // why what reads its results, or makes what it reads, is another kernel
  tell("apart from", said("fuse").filter((r) => !r.done && own.has(r.location) !== own.has(r.reader)),
    (r) => `${own.has(r.location) ? r.reader : r.location}: ${r.pass}, ${r.why} (A: ${r.operation}, B: ${r.reader_operation})`);
  tell("memory", said("plan").filter((r) => r.reader === call.location),
    (r) => `${r.operation} (A): ${r.why}`);
  const text = (title, lines, head) => {
    const found = functionText(lines, head);
    const box = make(panel, "details", {});
    make(box, "summary", {}, title);
    make(box, "pre", { tabindex: 0 }, found || "not in this text");
    return box;
  };
  if (facts.passes.length) text("Loop IR", stateLines(facts.passes.length - 1), new RegExp(`^(kernel|function) @${escaped(call.kernel)}\\(`));
  text(facts.language, codeLines(), new RegExp(`^\\S.*\\b${escaped(call.kernel)}\\(`)).open = true;
  if (panel.getBoundingClientRect().top >= innerHeight / 2 || panel.getBoundingClientRect().bottom <= 0) panel.scrollIntoView();
}
