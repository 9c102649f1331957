// ---- elements, numbers ----

const $ = (selector) => document.querySelector(selector);
const SVG = "http://www.w3.org/2000/svg";
const held = (id) => JSON.parse(document.getElementById(id).textContent);

function make(parent, tag, attributes, text) {
  const svg = parent.namespaceURI === SVG;
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
}

// what a click does, Enter does
function onPress(element, action) {
  element.onclick = action;
  element.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action(event);
  };
}

const whole = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, " ");
function scaled(n, unit) {
  for (const [factor, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(n) >= factor) return `${(n / factor).toPrecision(3)} ${prefix}${unit}`;
  return `${n} ${unit}`.trim();
}
const percent = (part, all, digits = 1) => `${((100 * part) / Math.max(1e-30, all)).toFixed(digits)} %`;
const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

// ---- facts ----

const facts = held("facts");
const buffers = new Map(facts.buffers.map((b) => [b.name, b]));
function root(name) {
  let b = buffers.get(name);
  while (b && b.space === "view") b = buffers.get(b.of);
  return b;
}
const callsOf = (report) => report.calls.map((call, index) => ({
  ...call, index, bytes: call.read + call.written, intensity: call.flops / Math.max(1, call.read + call.written),
  nodes: call.location.split(", "), shape: (/-> <([^>]*)>$/.exec(call.summary) || ["", ""])[1],
}));
const calls = callsOf(facts);
const benches = [facts, ...(facts.entries || [])].filter((b) => b.bench);      // what was measured: of the model, or of each entry
const total = (key) => calls.reduce((sum, call) => sum + call[key], 0);
const operation = (call) => call.summary.split(/ <| ->|,/)[0];

// the IR after each pass and the C, as numbers of lines; read when first asked for, for it may be large
let texts = null;
const textOf = (runs) => {
  const lines = [];
  for (let i = 0; i + 1 < runs.length; i += 2) for (let n = 0; n < runs[i + 1]; n++) lines.push(texts.lines[runs[i] + n]);
  return lines;
};
const stateLines = (k) => ((texts ||= held("states")), textOf(texts.states[k]));
const codeLines = () => ((texts ||= held("states")), textOf(texts.code));
// a function's lines, from the one that `head` knows to the closing brace
function functionText(lines, head) {
  const first = lines.findIndex((line) => head.test(line) && !line.endsWith(";"));
  const last = lines.indexOf("}", first);
  return first < 0 || last < 0 ? "" : lines.slice(first, last + 1).join("\n");
}
