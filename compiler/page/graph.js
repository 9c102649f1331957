// ---- the graph ----

const heat = (share) => `hsl(${Math.round(212 - 202 * share)}, ${Math.round(35 + 50 * share)}%, ${Math.round(93 - 30 * share)}%)`;

draw.graph = () => {
  const graph = graphOf(), svg = $("#graph-tab svg"), world = $("#graph-tab svg g"), tip = $("#graph-tab .tip");
  const box = () => svg.getBoundingClientRect();
  const aspect = box().width / Math.max(1, box().height), size = layOut(graph, aspect);
  for (const way of graph.edges) make(world, "path", { d: way.path });
  let moved = false;
  for (const node of graph.nodes) {
    const g = make(world, "g", { class: "node", transform: `translate(${node.x},${node.y})`, "data-kind": node.kind });
    node.rect = make(g, "rect", { width: WIDE, height: HIGH, rx: node.call ? 4 : 18 });
    make(g, "text", { x: WIDE / 2, y: 15 }, cut(node.label, 27));
    make(g, "text", { x: WIDE / 2, y: 29, class: "small" }, cut(node.call ? operation(node.call) : node.kind, 32));
    if (node.outputs.length) make(g, "text", { x: WIDE / 2 + 4, y: HIGH + 11, class: "edge" }, cut(node.below, 20));
    const about = node.call
      ? `${node.call.kernel}: ${node.call.summary}; ${scaled(node.call.flops, "FLOP")}, ${scaled(node.call.bytes, "B")}, ` +
        `${scaled(node.call.cycles, "cycles")} predicted${timed ? `, ${(node.call.seconds * 1e6).toFixed(1)} µs` : ""}; from ${node.call.location}`
      : `${node.kind} ${node.label}, ${node.below}`;
    g.onmouseenter = g.onfocus = () => (tip.textContent = about);
    for (const [name, value] of [["tabindex", 0], ["role", node.call ? "button" : "img"], ["aria-label", about]]) g.setAttribute(name, value);
    if (node.call) onPress(g, () => moved || showKernel(node.call.index));
  }
  const paint = () => {
    const key = $("#colour").value, largest = Math.max(1e-30, ...calls.map((c) => c[key]));
    for (const node of graph.nodes) if (node.call) node.rect.style.fill = heat(Math.sqrt(node.call[key] / largest));
  };
  for (const [key, name] of [...(timed ? [["seconds", "measured time"]] : []), ["cycles", "predicted cycles"], ["flops", "FLOP"], ["bytes", "bytes"], ["intensity", "FLOP per byte"]])
    make($("#colour"), "option", { value: key }, name);
  $("#colour").onchange = paint;
  paint();
  // zoom and move: the view box
  const all = { x: -20, y: -40, w: size.wide + 40, h: size.high + 110 };
  let view = { ...all }, last = null;
  const look = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const scale = () => Math.max(view.w / box().width, view.h / box().height);
  const zoom = (factor, x = view.x + view.w / 2, y = view.y + view.h / 2) => {
    view = { x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, w: view.w * factor, h: view.h * factor };
    look();
  };
  const start = () => {                                   // readable: the top left, not the whole of a large network
    const readable = 1.6;                                 // units of the graph in a pixel, at most
    view = { ...all };
    if (scale() > readable) {
      const { width, height } = box();
      view = { x: all.x, y: all.y, w: Math.min(all.w, readable * width), h: Math.min(all.h, readable * height) };
    }
    look();
  };
  start();
  const fit = () => ((view = { ...all }), look());
  $("#fit").onclick = fit;
  let seen = null;                                        // on the screen; paper gets all of it
  addEventListener("beforeprint", () => ((seen = view), fit()));
  addEventListener("afterprint", () => ((view = seen), look()));
  svg.onwheel = (event) => {
    event.preventDefault();
    const { left, top, width, height } = box();
    zoom(Math.exp(event.deltaY * 0.0015), view.x + view.w / 2 + (event.clientX - left - width / 2) * scale(),
      view.y + view.h / 2 + (event.clientY - top - height / 2) * scale());
  };
  svg.onkeydown = (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const factor = { "+": 0.8, "-": 1.25 }[event.key];
    if (factor) zoom(factor);
    if (!step) return;
    event.preventDefault();
    view.x += (step[0] * view.w) / 8;
    view.y += (step[1] * view.h) / 8;
    look();
  };
  const fingers = new Map();                              // on the screen, by number of their pointer
  svg.onpointerdown = (event) => (fingers.set(event.pointerId, event), (last = event), (moved = false));
  const pinch = (event) => {
    const [a, b] = fingers.values(), distance = (p, q) => Math.hypot(p.clientX - q.clientX, p.clientY - q.clientY), before = distance(a, b);
    fingers.set(event.pointerId, event);
    const [c, d] = fingers.values(), { left, top, width, height } = box();
    moved = true;
    zoom(Math.max(1, before) / Math.max(1, distance(c, d)), view.x + view.w / 2 + ((c.clientX + d.clientX) / 2 - left - width / 2) * scale(),
      view.y + view.h / 2 + ((c.clientY + d.clientY) / 2 - top - height / 2) * scale());
  };
  svg.onpointermove = (event) => {
    if (fingers.size === 2 && fingers.has(event.pointerId)) return pinch(event);
    if (!last || !event.buttons) return;
    moved ||= Math.abs(event.clientX - last.clientX) + Math.abs(event.clientY - last.clientY) > 3;
    view.x -= (event.clientX - last.clientX) * scale();
    view.y -= (event.clientY - last.clientY) * scale();
    last = event;
    look();
  };
  svg.onpointerup = svg.onpointercancel = svg.onpointerleave = (event) => (fingers.delete(event.pointerId), (last = null));
};
