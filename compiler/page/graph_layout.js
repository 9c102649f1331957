// ---- where boxes of the graph lie: layers by longest path, order in a layer by the middle of the neighbours ----

// "1 x 16 x 8 x f32": 1×16×8 f32
const shortShape = (shape) => shape.replaceAll(" x ", "×").replace(/×(?=[^×]*$)/, " ");

function graphOf() {
  const nodes = [], edges = [], writer = new Map();
  const port = (b, kind) => nodes[nodes.push({ label: b.port || b.name, kind, below: scaled(b.bytes, "B"), inputs: [], outputs: [] }) - 1];
  for (const b of facts.buffers) if (b.space === "input") writer.set(b.name, [port(b, "input")]);
  const connect = (from, to) => {
    if (from === to || to.inputs.includes(from)) return;
    to.inputs.push(from);
    from.outputs.push(to);
    edges.push([from, to]);
  };
  const first = new Map();                                // nodes that a kernel was written for: others that share it go by their own
  for (const call of calls) if (!first.has(call.kernel)) first.set(call.kernel, call.location);
  for (const call of calls) {
    const own = first.get(call.kernel) !== call.location;
    const node = { label: own ? call.nodes[0] : call.kernel, kind: "call", call, below: shortShape(call.shape) || scaled(call.written, "B"), inputs: [], outputs: [] };
    nodes.push(node);
    const roots = call.buffers.map((name) => root(name));
    call.access.forEach((access, k) => {
      if (access !== "out" && roots[k]) for (const from of writer.get(roots[k].name) || []) connect(from, node);
    });
    // a buffer written in parts (a concat in place) has several writers; one written anew, as a whole, has this one
    call.access.forEach((access, k) => {
      if (access === "in" || !roots[k]) return;
      const part = buffers.get(call.buffers[k]).space === "view" || call.offset;
      writer.set(roots[k].name, part ? [...(writer.get(roots[k].name) || []), node] : [node]);
    });
  }
  for (const b of facts.buffers)
    if (b.space === "output") {
      const node = port(b, "output");
      for (const from of writer.get(b.name) || []) connect(from, node);
    }
  return { nodes, edges };
}

const WIDE = 176, HIGH = 36, GAP_X = 26, GAP_Y = 40, BENDS_MAX = 20000, LANE = 6;

// An edge that skips layers takes a place in each of them, so that no box lies on it (Sugiyama, Tagawa, Toda 1981).
function layersOf({ nodes, edges }) {
  const layers = [];
  let bends = 0;
  for (const node of nodes) {                             // a call's inputs come before it
    node.layer = node.inputs.reduce((layer, from) => Math.max(layer, from.layer + 1), 0);
    (layers[node.layer] ||= []).push(node);
    node.wide = WIDE;
    node.above = [];
    node.under = [];
  }
  for (const edge of edges) {                             // becomes [from, bends .., to]
    const [from, to] = edge, way = [from];
    for (let layer = from.layer + 1; layer < to.layer && bends < BENDS_MAX; layer++, bends++) {
      way.push({ layer, wide: 0, above: [], under: [] });
      layers[layer].push(way.at(-1));
    }
    way.push(to);
    edge.splice(0, 2, ...way);
    for (let k = 1; k < way.length; k++) {
      way[k].above.push(way[k - 1]);
      way[k - 1].under.push(way[k]);
    }
  }
  const place = (layer) => {                              // of the middle, around 0
    let x = -layer.reduce((sum, node) => sum + node.wide + GAP_X, -GAP_X) / 2;
    for (const node of layer) {
      node.place = x + node.wide / 2;
      x += node.wide + GAP_X;
    }
  };
  layers.forEach(place);
  const middle = (others) => others.reduce((sum, other) => sum + other.place, 0) / others.length;
  for (let turn = 0; turn < 6; turn++)
    for (const layer of turn % 2 ? [...layers].reverse() : layers) {
      for (const node of layer) {
        const others = turn % 2 ? node.under : node.above;
        node.wish = others.length ? middle(others) : node.place;
      }
      layer.sort((a, b) => a.wish - b.wish);
      place(layer);
    }
  return layers;
}

// Layers stand below each other, and go on at the top of a next column: as many columns as show the boxes largest in a window of
// that form. Edges to the next column go around the boxes: down, through the gutter, up, each on a lane of its own.
//
//      [a]        .----.
//       |         |    |
//      [b]        |   [d]
//       |'--.     |    |
//      [c]  |     |   [e]
//       |   |     |
//       '---+-----'
function layOut(graph, aspect) {
  const layers = layersOf(graph), row = HIGH + GAP_Y;
  const width = (layer) => layer.reduce((sum, node) => sum + node.wide + GAP_X, -GAP_X);
  const crossing = (l) => graph.edges.reduce((n, way) => n + way.some((node, k) => k + 1 < way.length && node.layer === l && way[k + 1].layer === l + 1), 0);
  const plan = (count) => {
    const rows = Math.ceil(layers.length / count), columns = [];
    for (let l = 0; l < layers.length; l += rows) columns.push({ first: l, wide: Math.max(...layers.slice(l, l + rows).map(width)) });
    for (const column of columns) column.lanes = column.first ? crossing(column.first - 1) : 0;
    const wide = columns.reduce((sum, column) => sum + column.wide + 2 * GAP_X + LANE * column.lanes, 0);
    return { rows, columns, size: Math.max(wide, aspect * rows * row) };
  };
  let best = plan(1);
  for (let count = 2; count <= Math.min(40, layers.length); count++) {
    const other = plan(count);
    if (other.size < best.size) best = other;
  }
  let x = 0;
  for (const column of best.columns) {
    column.gutter = x + GAP_X;
    x += GAP_X + LANE * column.lanes + (column.lanes ? GAP_X : 0);
    for (const layer of layers.slice(column.first, column.first + best.rows))
      for (const node of layer) {
        node.x = x + column.wide / 2 + node.place - node.wide / 2;
        node.y = (node.layer - column.first) * row;
        node.column = column;
      }
    column.lane = 0;
    x += column.wide;
  }
  const bottom = (best.rows - 1) * row + HIGH;
  for (const way of graph.edges) way.path = pathOf(way, bottom);
  return { wide: x, high: bottom };
}

// M, C, V, H with absolute numbers; boxes are entered from above and left below
function pathOf(way, bottom) {
  const at = (node) => node.x + node.wide / 2;
  let d = `M${at(way[0])},${way[0].y + HIGH}`;
  way.slice(1).forEach((to, k) => {
    const from = way[k], y = from.y + HIGH, bend = (to.y - y) / 2;
    if (to.column === from.column) {
      d += `C${at(from)},${y + bend} ${at(to)},${to.y - bend} ${at(to)},${to.y}`;
    } else {
      const lane = LANE * to.column.lane++;
      d += `V${bottom + 24 + lane}H${to.column.gutter + lane}V${-14 - lane}H${at(to)}V${to.y}`;
    }
    if (!to.wide) d += `V${to.y + HIGH}`;
  });
  return d;
}
