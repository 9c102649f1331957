// ---- what a machine does, layer by layer, and what stays on the processor ----

const machine = facts.accelerator;
const ofMachine = (bytes) => Object.values(bytes).reduce((sum, n) => sum + n, 0);
function machineRows() {
  const rows = [];
  machine.launches.forEach((launch, number) =>
    launch.layers.forEach((layer) => rows.push({ ...layer, launch: number + 1, index: rows.length, moved: ofMachine(layer.bytes), least: ofMachine(layer.least) })));
  return rows;
}
if (machine) draw.machine = () => {
  const { network } = machine, rows = machineRows();
  const memories = Object.keys(machine.memories);
  if (network)
    $("#machine-facts").textContent = `${machine.machine}: ${percent(machine.flops_share, 1)} of the operations in ${machine.launch_count} launches, ` +
      `${machine.nodes.machine} of ${machine.nodes.all} nodes of the model, ${machine.nodes.both} in part, ` +
      `${whole(network.cycles)} cycles, ${percent(network.utilization, 1)} of them products, bound by ${network.bound}; ` +
      `one instruction after the other ${whole(network.serial)}. ${whole(network.instructions)} instructions, ${whole(network.micro_ops)} micro-ops. ` +
      `Memories used: ${memories.map((name) => `${name} ${percent(network.used[name], machine.memories[name], 0)}`).join(", ")}.`;
  const most = Math.max(1, ...rows.map((row) => row.cycles));
  table("#machine-layers", [
    { name: "layer", key: "location", clamp: true },
    { name: "launch", key: "launch", number: true },
    { name: "cycles", key: "cycles", number: true, text: (r) => whole(r.cycles) },
    { name: "", key: "cycles", bar: (r) => r.cycles / most },
    { name: "products", key: "utilization", number: true, text: (r) => percent(r.utilization, 1) },
    { name: "bound by", key: "bound" },
    { name: "one by one", key: "serial", number: true, text: (r) => whole(r.serial) },
    { name: "bytes moved", key: "moved", number: true, text: (r) => whole(r.moved) },
    { name: "of the least", value: (r) => r.moved / Math.max(1, r.least), number: true, text: (r) => (r.moved / Math.max(1, r.least)).toFixed(2) },
    ...memories.map((name) => ({ name: `${name}: bytes`, value: (r) => r.bytes[name], number: true, text: (r) => whole(r.bytes[name]) })),
    ...memories.map((name) => ({ name: `${name}: used`, value: (r) => r.used[name], number: true, text: (r) => whole(r.used[name]) })),
    { name: "instructions", key: "instructions", number: true, text: (r) => whole(r.instructions) },
    { name: "micro-ops", key: "micro_ops", number: true, text: (r) => whole(r.micro_ops) },
  ], rows);
  table("#machine-processor", [
    { name: "kernel", value: (r) => r.location, text: (r) => `${operation(calls[r.call])}: ${r.location}`, clamp: true },
    { name: "operations", key: "flops", number: true, text: (r) => whole(r.flops) },
    { name: "why it is not on the machine", key: "why" },
  ], machine.processor.map((row, index) => ({ ...row, index })), (row) => showKernel(row.call));
};
