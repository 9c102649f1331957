// ---- what differs between two texts ----

// Which elements stay: Myers' O(ND) algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986) between what the two
// have in common at both ends; when they differ in more than LIMIT, all between counts as changed.
const LIMIT = 4000;
function difference(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail), pairs = [];
  for (let i = 0; i < head; i++) pairs.push([i, i]);
  for (const [i, j] of common(x, y)) pairs.push([head + i, head + j]);
  for (let i = 0; i < tail; i++) pairs.push([a.length - tail + i, b.length - tail + i]);
  return pairs;
}
function common(a, b) {
  const most = Math.min(LIMIT, a.length + b.length), reach = new Map([[1, 0]]), trace = [];
  for (let d = 0; d <= most; d++) {
    const now = [];
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      let i = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1)) ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (i < a.length && i - k < b.length && a[i] === b[i - k]) i++;
      now.push([k, i]);
      if (i >= a.length && i - k >= b.length) return backward(a, b, trace, d);
    }
    for (const [k, i] of now) reach.set(k, i);
    if (trace.length * reach.size > 6e6) return [];
  }
  return [];
}
// trace[d]: how far each diagonal reached with less than d changes
function backward(a, b, trace, d) {
  const pairs = [];
  let i = a.length, j = b.length;
  for (; d >= 0; d--) {
    const reach = trace[d], k = i - j;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const before = down ? k + 1 : k - 1, from = d ? reach.get(before) : 0;
    const stop = d ? (down ? from : from + 1) : 0;
    while (i > stop && j > 0 && a[i - 1] === b[j - 1]) pairs.push([--i, --j]);
    i = d ? from : 0;
    j = i - before;
  }
  return pairs.reverse();
}

// The same for lines of IR. Numbers of values change with each value that comes or goes, and what is fused moves to the right;
// neither is a difference. So lines are paired by what they say beside values' names, function by function; and of a pair both stay
// the same if each name on the left stands for one on the right, all the way through:
//
//      %7 = max(%5, %6) : <4 x f32>          %6 = max(%5, %4) : <4 x f32>         the same if %5, %6 were paired with %5, %4
//
// A name that is made anew (by `%7 =`, `let %7`, `for %7`, `%7:`) is paired anew. What a fusion yields goes by its name inside.
const NAME = /%[A-Za-z_0-9]+/g;
function sameLines(a, b) {
  const names = [insideNames(a), insideNames(b)], left = new Map(), right = new Map();
  const pair = (x, y) => {
    right.delete(left.get(x));
    left.delete(right.get(y));
    left.set(x, y);
    right.set(y, x);
  };
  return pairedLines(a, b).filter(([i, j]) => {
    if (isHead(a[i])) [left, right].forEach((map) => map.clear());
    let same = true;
    [...a[i].matchAll(NAME)].forEach(({ 0: name, index }, k) => {
      const x = names[0][i][k], y = names[1][j][k];
      const made = /^\s*((let|for|var) )?(%\w+, )*$/.test(a[i].slice(0, index)) || a[i][index + name.length] === ":";
      if (made || (!left.has(x) && !right.has(y))) pair(x, y);
      else same &&= left.get(x) === y;
    });
    return same;
  });
}

const isHead = (line) => /^\S.*{/.test(line);
// the names in each line; those of a fusion's results are what it yields
function insideNames(lines) {
  const yielded = new Map(), open = [];
  return lines.map((line) => {
    const names = (line.match(NAME) || []).map((name) => yielded.get(name) || name), text = line.trim();
    if (isHead(line)) yielded.clear();
    if (text === "}") open.pop();
    if (text.startsWith("yield(") && open.at(-1)) open.at(-1).forEach((name, k) => names[k] && yielded.set(name, names[k]));
    if (/{( *;.*)?$/.test(text)) open.push(/^%.* = fusion\(/.test(text) ? text.split(" = ")[0].split(", ") : null);
    return names;
  });
}

// Pairs of lines alike but for names: within functions of the same name, and between these.
function pairedLines(a, b) {
  const numbers = new Map();
  const shapes = (lines) => lines.map((line) => {
    const text = line.trim().replace(NAME, "%").replace(/^((module|program) .*) passes ".*"$/, "$1");
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  });
  const parts = (lines) => {                              // [name, first line, end]; what stands in front of functions has no name
    const found = [["", 0, 0]];
    lines.forEach((line, k) => {
      if (isHead(line)) found.push([line.split(/[({]/)[0], k, k]);
      found.at(-1)[2] = k + 1;
    });
    return found;
  };
  const x = shapes(a), y = shapes(b), p = parts(a), q = parts(b);
  const known = new Map(), number = ([name]) => (known.has(name) || known.set(name, known.size), known.get(name));
  const together = difference(p.map(number), q.map(number));
  return together.flatMap(([i, j]) =>
    difference(x.slice(p[i][1], p[i][2]), y.slice(q[j][1], q[j][2])).map(([s, t]) => [p[i][1] + s, q[j][1] + t]));
}
