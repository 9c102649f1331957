// ---- roofline (Williams, Waterman, Patterson 2009): work of each kernel by what it does with a byte, below what the machine can do ----

// With measured times rates are in a second, and the roof is the peak that was measured beside them; without, in a cycle, as predicted.
draw.roofline = () => {
  const svg = $("#roofline-tab svg"), tip = $("#roofline-tab .tip"), machine = facts.machine;
  const clock = timed ? facts.bench.peak / machine.flops : 1, unit = timed ? "FLOP/s" : "FLOP a cycle";
  const dots = calls.filter((c) => c.flops > 0 && c.bytes > 0).map((call) => ({ call, at: call.intensity, rate: call.flops / Math.max(1e-12, timed ? call.seconds : call.cycles) }));
  const { width, height } = svg.getBoundingClientRect(), LEFT = 78, BOTTOM = 40, W = Math.max(100, width - LEFT - 20), H = Math.max(80, height - BOTTOM - 14);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (!dots.length) {
    $("#roofline-facts").textContent = "no kernel computes with floats";
    return;
  }
  const peak = machine.flops * clock, roofs = [["second cache", machine.l2 * clock], ["memory", machine.memory * clock]];
  const rates = [...dots.map((d) => d.rate), ...(peak ? [peak] : [])], ats = dots.map((d) => d.at);
  const least = (list) => 10 ** Math.floor(Math.log10(Math.min(...list))), most = (list) => 10 ** Math.ceil(Math.log10(Math.max(...list) * 1.001));
  const range = { x: [least(ats), Math.max(10 * least(ats), most(ats))], y: [least(rates), Math.max(10 * least(rates), most(rates))] };
  const place = (v, [low, high]) => Math.log(v / low) / Math.log(high / low);
  const x = (v) => LEFT + place(v, range.x) * W, y = (v) => 10 + H - place(v, range.y) * H;
  const inside = (v) => Math.min(range.y[1], Math.max(range.y[0], v));
  for (let v = range.x[0]; v <= range.x[1] * 1.001; v *= 10) make(svg, "text", { x: x(v), y: H + 26, "text-anchor": "middle" }, String(Number(v.toPrecision(3))));
  for (let v = range.y[0]; v <= range.y[1] * 1.001; v *= 10) make(svg, "text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, scaled(Number(v.toPrecision(3)), ""));
  make(svg, "text", { x: LEFT + W / 2, y: H + 42, "text-anchor": "middle" }, `FLOP per byte; up: ${unit}`);
  if (peak) make(svg, "line", { x1: LEFT, x2: LEFT + W, y1: y(peak), y2: y(peak) });
  for (const [name, bytes] of peak ? roofs : []) {
    const from = Math.max(range.x[0], range.y[0] / bytes), to = Math.min(range.x[1], peak / bytes);
    if (from >= to) continue;
    make(svg, "line", { x1: x(from), y1: y(inside(from * bytes)), x2: x(to), y2: y(inside(to * bytes)) });
    make(svg, "text", { x: x(from) + 4, y: y(inside(from * bytes)) - 6 }, name);
  }
  const largest = Math.max(...dots.map((d) => (timed ? d.call.seconds : d.call.cycles)));
  for (const { call, at, rate } of dots) {
    const share = (timed ? call.seconds : call.cycles) / largest;
    const about = `${call.kernel}: ${at.toFixed(2)} FLOP per byte, ${scaled(Number(rate.toPrecision(3)), "")} ${unit}` +
      `${peak ? `, ${percent(rate, peak)} of the peak` : ""}; ${call.summary}`;
    const dot = make(svg, "circle", { cx: x(at), cy: y(rate), r: 4 + 14 * Math.sqrt(share), tabindex: 0, role: "button", "aria-label": about });
    dot.onmouseenter = dot.onfocus = () => (tip.textContent = about);
    onPress(dot, () => showKernel(call.index));
  }
  $("#roofline-facts").textContent = `${timed ? "measured times" : "predicted cycles: with --bench=kernels times are measured"}; a circle's area is its share of them. ` +
    "Bytes are those of all parameters once.";
};
