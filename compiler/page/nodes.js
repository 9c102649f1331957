// ---- which node of the model went where ----

// A node is what the first state's lines name behind `;`. It is in the kernels that name it; else the first pass whose state names
// it no more has taken it away: fold made a number of it, other passes what their names say. What was rewritten lives on in those
// that read it, as a convolution does in its batch norm.
function nodesOfModel() {
  const named = (line) => (/; "((?:[^"\\]|\\.)*)"$/.exec(line) || [])[1];
  const found = new Map(), maker = new Map(), last = facts.passes.length - 1;
  for (const line of last >= 0 ? stateLines(0) : []) {
    const name = named(line), made = /^\s*(?:(%\w+(?:, %\w+)*) = )?(\w+)/.exec(line);
    if (name === undefined || !made) continue;
    const node = found.get(name) || { index: found.size, name, operations: new Set(), calls: [], readers: new Set(), last: 0 };
    found.set(name, node);
    node.operations.add(made[2]);
    for (const value of line.slice(made[0].length).match(NAME) || []) if (maker.has(value)) maker.get(value).readers.add(node);
    for (const value of (made[1] || "").split(", ")) maker.set(value, node);
  }
  for (const call of calls) for (const name of new Set(call.nodes)) if (found.has(name)) found.get(name).calls.push(call);
  const gone = new Set([...found.values()].filter((node) => !node.calls.length));
  for (let k = 1; k <= last && gone.size; k++) {
    const names = facts.passes[k].level === "tensor" ? new Set(stateLines(k).map(named)) : new Set();
    for (const node of gone) if (names.has(node.name)) node.last = k;
  }
  for (const node of gone) node.heir = heirOf(node);
  return [...found.values()];
}
const ENDS = { fold: "a constant", cse: "equal to another, which is computed once", dce: "nothing reads it", lower: "a view: no code" };
// the first of those behind it that is in a kernel
function heirOf(node) {
  const seen = new Set([node]);
  for (const one of seen) {
    if (one.calls.length) return one;
    for (const reader of one.readers) seen.add(reader);
  }
  return null;
}
function fate(node) {
  if (node.calls.length) return "";
  const pass = (facts.passes[node.last + 1] || { pass: "gone" }).pass;
  return `${pass}: ${ENDS[pass] || (node.heir ? `part of ${node.heir.name}` : "rewritten")}`;
}

let nodes = null, refillNodes = null;
draw.nodes = () => {
  nodes ||= nodesOfModel();
  refillNodes = table("#nodes-tab", [
    { name: "#", key: "index", number: true },
    { name: "node", key: "name" },
    { name: "operations", key: "operations", text: (n) => [...n.operations].join(", "), value: (n) => [...n.operations].join() },
    { name: "kernels", key: "calls", value: (n) => n.calls.length, fill: (td, n) => (n.heir || n).calls.forEach((call, k) => {
      if (k) td.append(", ");
      onPress(make(td, "a", { tabindex: 0, role: "link" }, `#${call.index} ${call.kernel}`), () => showKernel(call.index));
    }) },
    { name: "gone by", key: "last", text: fate, value: fate },
  ], [...nodes]);
  const placed = nodes.filter((node) => node.calls.length).length;
  $("#node-facts").textContent = `${nodes.length} nodes as imported: ${placed} in kernels, ${nodes.length - placed} folded or gone`;
  $("#node-filter").oninput = () => {
    const part = $("#node-filter").value.toLowerCase();
    refillNodes((n) => n.name.toLowerCase().includes(part) || n.calls.some((c) => c.kernel.toLowerCase().includes(part)));
  };
};
function showNode(name) {
  show("nodes");
  const node = nodes.find((one) => one.name === name);
  $("#node-filter").value = "";
  refillNodes(null);
  if (node) mark("#nodes-tab", node.index);
}

// ---- search: nodes, kernels, weights, ports ----

const FOUND_MAX = 60;
function search(part) {
  part = part.trim().toLowerCase();
  if (!part) return [];
  nodes ||= nodesOfModel();
  const hits = [];
  for (const node of nodes) hits.push([node.name, `node, ${node.calls.length ? `in ${node.calls[0].kernel}` : fate(node)}`, () => showNode(node.name)]);
  for (const call of calls) hits.push([call.kernel, `kernel #${call.index}`, () => showKernel(call.index)]);
  for (const b of facts.buffers)
    if (b.space === "constant") hits.push([b.name, `constant, ${scaled(b.bytes, "B")}`, () => showWeight(b.name)]);
    else if (b.port) hits.push([b.port, b.space, () => show("memory")]);
  return hits.filter(([name]) => name.toLowerCase().includes(part)).sort(([a], [b]) => a.length - b.length).slice(0, FOUND_MAX);
}
$("#search").oninput = () => {
  const list = $("#found");
  list.textContent = "";
  for (const [name, what, go] of search($("#search").value)) {
    const button = make(list, "button", {}, `${name} `);
    make(button, "span", {}, what);
    button.onclick = () => ((list.textContent = ""), ($("#search").value = ""), go());
  }
  if ($("#search").value.trim() && !list.children.length) make(list, "span", {}, "nothing of that name");
};
$("#search").onkeydown = (event) => {
  if (event.key === "Enter") $("#found button")?.click();
  if (event.key === "ArrowDown") $("#found button")?.focus();
  if (event.key === "Escape") $("#found").textContent = "";
};
$("#found").onkeydown = (event) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (step) (event.preventDefault(), (document.activeElement[step] || $("#search")).focus());
  if (event.key === "Escape") $("#found").textContent = "";
};
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|SELECT/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  $("#search").focus();
});
