// ---- a second report (--report-against): what it said, and what this one says ----

const against = JSON.parse(held("against"));              // a text, as it was found
if (against)
  draw.compare = () => {
    const then = callsOf(against), bothTimed = timed && then.length > 0 && then.every((call) => call.seconds > 0);
    const sum = (list, key) => list.reduce((all, call) => all + call[key], 0);
    const ratio = (td, before, now) => {                  // less is better in all that is compared
      td.textContent = before > 0 ? (now / before).toFixed(3) : now > 0 ? "new" : "";
      td.className += before > 0 && now < before ? " better" : before > 0 && now > before ? " worse" : "";
    };
    $("#compare-facts").textContent = `then: dnncc ${against.dnncc} ${against.options}, target ${against.target}` +
      (against.source === facts.source ? "; the same model" : "; another model") + (bothTimed ? "" : "; no times on both sides: predicted cycles");
    const number = { number: true };
    const sizes = [["workspace, bytes", "workspace"], ["live at the peak, bytes", "live_peak"], ["constants, bytes", "constants"], ["kernels", "kernels"], ["FLOP", "flops"]]
      .map(([name, key]) => ({ name, then: against[key], now: facts[key] }));
    sizes.push({ name: "calls", then: then.length, now: calls.length });
    for (const [name, key] of [["bytes that kernels touch", "bytes"], ["predicted cycles", "cycles"], ...(bothTimed ? [["measured µs", "seconds"]] : [])]) {
      const unit = key === "seconds" ? 1e6 : 1;
      sizes.push({ name, then: sum(then, key) * unit, now: sum(calls, key) * unit });
    }
    const networks = [against, facts].map((report) => report.accelerator && report.accelerator.network);
    if (networks[0] && networks[1])
      for (const [name, of] of [["cycles of the machine", (n) => n.cycles], ["bytes that it moves", (n) => ofMachine(n.bytes)], ["instructions", (n) => n.instructions]])
        sizes.push({ name, then: of(networks[0]), now: of(networks[1]) });
    table("#compare-sizes", [
      { name: "", key: "name" }, { ...number, name: "then", key: "then", text: (r) => whole(r.then) }, { ...number, name: "now", key: "now", text: (r) => whole(r.now) },
      { ...number, name: "now / then", key: "now", fill: (td, r) => ratio(td, r.then, r.now) },
    ], sizes.map((row, index) => ({ ...row, index })));
    // a call is the same if it computes the same nodes: the k-th of that name
    const queues = new Map(), key = bothTimed ? "seconds" : "cycles", unit = bothTimed ? 1e6 : 1;
    for (const call of then) queues.set(call.location, [...(queues.get(call.location) || []), call]);
    const rows = calls.map((call) => ({ name: call.location, before: (queues.get(call.location) || []).shift(), call }));
    for (const left of queues.values()) for (const before of left) rows.push({ name: before.location, before });
    const value = (call, of) => (call ? call[of] : 0);
    table("#compare-calls", [
      { name: "nodes", key: "name" },
      { name: "", key: "name", text: (r) => (!r.before ? "new" : r.call ? "" : "gone"), value: (r) => (!r.before ? 1 : r.call ? 0 : 2) },
      { ...number, name: bothTimed ? "µs then" : "cycles then", key: "name", text: (r) => (r.before ? whole(r.before[key] * unit) : ""), value: (r) => value(r.before, key) },
      { ...number, name: "now", key: "name", text: (r) => (r.call ? whole(r.call[key] * unit) : ""), value: (r) => value(r.call, key) },
      { ...number, name: "now / then", key: "name", fill: (td, r) => r.before && r.call && ratio(td, r.before[key], r.call[key]),
        value: (r) => (r.before && r.call ? r.call[key] / Math.max(1e-12, r.before[key]) : 0) },
      { ...number, name: "bytes then", key: "name", text: (r) => (r.before ? whole(r.before.bytes) : ""), value: (r) => value(r.before, "bytes") },
      { ...number, name: "now", key: "name", text: (r) => (r.call ? whole(r.call.bytes) : ""), value: (r) => value(r.call, "bytes") },
      { name: "schedule", key: "name", text: (r) => {
        const [a, b] = [r.before, r.call].map((call) => (call ? call.schedule || "canonical" : ""));
        return a === b || !a || !b ? a || b : `${a} → ${b}`;
      } },
    ], rows.map((row, index) => ({ ...row, index })));
  };
