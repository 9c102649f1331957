// ---- weights ----

let constants = null;
draw.weights = () => {
  const users = new Map();
  for (const call of calls)
    for (const name of call.buffers) {
      const b = root(name);
      if (b && b.space === "constant") users.set(b.name, [...(users.get(b.name) || []), call.kernel]);
    }
  constants = facts.buffers.filter((b) => b.space === "constant").sort((a, b) => b.bytes - a.bytes).map((b, index) => ({ ...b, index }));
  const largest = Math.max(1, ...constants.map((b) => b.bytes));
  table("#weights-tab", [
    { name: "constant", key: "name" },
    { name: "element", key: "element" },
    { name: "elements", key: "elements", number: true, text: (b) => whole(b.elements) },
    { name: "bytes", key: "bytes", number: true, text: (b) => whole(b.bytes) },
    { name: "", key: "bytes", bar: (b) => b.bytes / largest },
    { name: "of all", key: "bytes", number: true, text: (b) => percent(b.bytes, facts.constants, 2) },
    { name: "read by", key: "name", text: (b) => [...new Set(users.get(b.name) || [])].join(", ") },
  ], [...constants]);
};
function showWeight(name) {
  show("weights");
  mark("#weights-tab", constants.findIndex((b) => b.name === name));
}
