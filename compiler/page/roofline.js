// ---- roofline (Williams, Waterman, Patterson 2009): work of each kernel by what it does with a byte, below what the machine can do ----

// With measured times rates are in a second, and the roof is the peak that was measured beside them; without, in a cycle, as predicted.
function drawRoofline() {
  const svg = $("#roofline-tab svg"), tip = $("#roofline-tab .tip"), machine = facts.machine;
  const clock = timed ? benches[0].bench.peak / machine.flops : 1, unit = timed ? "FLOP/s" : "FLOP a cycle";
  const dots = calls.filter((c) => c.flops > 0 && c.bytes > 0).map((call) => ({ call, at: call.intensity, rate: call.flops / Math.max(1e-12, timed ? call.seconds : call.cycles) }));
  const { width, height } = svg.getBoundingClientRect(), LEFT = 78, BOTTOM = 40, W = Math.max(100, width - LEFT - 20), H = Math.max(80, height - BOTTOM - 14);
  svg.textContent = "";
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
  make(svg, "text", { x: LEFT + W / 2, y: H + 42, "text-anchor": "middle", class: "axis" }, "FLOP per byte");
  make(svg, "text", { x: 0, y: 0, transform: `translate(13,${10 + H / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, unit);
  make(svg, "path", { d: `M${LEFT} 10V${10 + H}H${LEFT + W}` });
  const taken = [];                                       // boxes of labels and circles: where nothing else is written
  const free = (box) => taken.every((t) => box.x + box.w <= t.x || t.x + t.w <= box.x || box.y + box.h <= t.y || t.y + t.h <= box.y) &&
    box.x >= LEFT && box.x + box.w <= LEFT + W && box.y >= 4 && box.y + box.h <= 10 + H;
  const largest = Math.max(...dots.map((d) => (timed ? d.call.seconds : d.call.cycles)));
  for (const { call, at, rate } of dots) {
    const r = 4 + 14 * Math.sqrt((timed ? call.seconds : call.cycles) / largest);
    taken.push({ x: x(at) - r, y: y(rate) - r, w: 2 * r, h: 2 * r });
  }
  const wide = (text) => 6.4 * text.length + 4;
  const write = (text, left, base, name) => {
    taken.push({ x: left, y: base - 11, w: wide(text), h: 14 });
    make(svg, "text", { x: left, y: base, class: name }, text);
  };
  const roof = (text, places) => {                        // at the first that is free, or some lines above or below one; nowhere, if none is
    const all = [0, 14, 28, 42, -20, -34].flatMap((up) => places.map(([left, base]) => [left, base - up]));
    const place = all.find(([left, base]) => free({ x: left, y: base - 11, w: wide(text), h: 14 }));
    if (place) write(text, ...place, "roof");
  };
  const speed = (v, of) => `${scaled(Number(v.toPrecision(3)), "")}${timed ? of : ` ${of.replace("/s", " a cycle")}`}`;
  if (peak) {
    make(svg, "line", { x1: LEFT, x2: LEFT + W, y1: y(peak), y2: y(peak) });
    const said = `multiply-adds: ${speed(peak, "FLOP/s")}`;
    const places = [1, 0.8, 0.6, 0.4].map((part) => [LEFT + part * W - wide(said), y(peak) - 6]);
    roof(said, places);
  }
  for (const [name, bytes] of peak ? roofs : []) {
    const from = Math.max(range.x[0], range.y[0] / bytes), to = Math.min(range.x[1], peak / bytes);
    if (from >= to) continue;
    make(svg, "line", { x1: x(from), y1: y(inside(from * bytes)), x2: x(to), y2: y(inside(to * bytes)) });
    const said = `${name}: ${speed(bytes, "B/s")}`, least = Math.min(x(to), LEFT + wide(said) + 8);         // ends above a point of the line, left of which that is lower
    const places = [0.5, 0.3, 0.7, 0.1, 0.9, 0].map((part) => {
      const right = Math.max(least, x(from) + part * (x(to) - x(from))), at = range.x[0] * (range.x[1] / range.x[0]) ** ((right - LEFT) / W);
      return [Math.max(LEFT + 4, right - wide(said) - 4), y(inside(at * bytes)) - 4];
    });
    roof(said, places);
  }
  for (const { call, at, rate } of dots) {
    const share = (timed ? call.seconds : call.cycles) / largest;
    const about = `${call.kernel}: ${at.toFixed(2)} FLOP per byte, ${scaled(Number(rate.toPrecision(3)), "")} ${unit}` +
      `${peak ? `, ${percent(rate, peak)} of the peak` : ""}; ${call.summary}`;
    const dot = make(svg, "circle", { cx: x(at), cy: y(rate), r: 4 + 14 * Math.sqrt(share), tabindex: 0, role: "button", "aria-label": about });
    dot.onmouseenter = dot.onfocus = () => (tip.textContent = about);
    onPress(dot, () => showKernel(call.index));
  }
  const named = new Set();
  for (const { call, at, rate } of [...dots].sort((a, b) => (timed ? b.call.seconds - a.call.seconds : b.call.cycles - a.call.cycles))) {
    const r = 4 + 14 * Math.sqrt((timed ? call.seconds : call.cycles) / largest), name = cut(call.kernel, 24), w = wide(name);      // the largest first
    const places = [[x(at) - w / 2, y(rate) - r - 4], [x(at) - w / 2, y(rate) + r + 12], [x(at) + r + 2, y(rate) + 4], [x(at) - r - 2 - w, y(rate) + 4],
      [x(at) - w / 2, y(rate) - r - 20], [x(at) - w / 2, y(rate) + r + 28]];
    const found = named.has(name) ? undefined : places.find(([left, base]) => free({ x: left, y: base - 11, w, h: 14 }));
    if (found) write(name, ...found, "name");
    named.add(name);                                      // once, at its longest call
  }
  $("#roofline-facts").textContent = `${timed ? "measured times" : "predicted cycles: with --bench=kernels times are measured"}; a circle's area is its share of them. ` +
    "Bytes are those of all parameters once.";
}

draw.roofline = () => {
  drawRoofline();
  addEventListener("resize", () => $("#roofline-tab").classList.contains("on") && drawRoofline());
};
