// ---- head and tabs ----

const inTime = (seconds) => (seconds < 1e-3 ? `${(seconds * 1e6).toPrecision(4)} µs` : `${(seconds * 1e3).toPrecision(4)} ms`);

document.title = `${facts.model}: dnncc report`;
$("#title").textContent = facts.model || "model";
const target = /(^| )--target=/.test(facts.options) ? "" : `, target ${facts.target}`;        // said once
$("#subtitle").textContent = `dnncc ${facts.dnncc} ${facts.options}${target}; model ${facts.source.slice(0, 16)}`;
for (const [value, name] of [
  [scaled(facts.workspace, "B"), "workspace"], [scaled(facts.live_peak, "B"), "live at the peak"],
  [scaled(facts.constants, "B"), "constants"], [scaled(facts.flops, "FLOP"), "a run"],
  [facts.kernels, "kernels"], [calls.length, "calls"],
  ...benches.map((b) => [inTime(b.bench.median), `median of ${b.bench.runs} runs${b.name ? ` of ${b.name}` : ""}`]),
]) {
  const cell = make($("#sizes"), "div");
  make(cell, "b", {}, value);
  make(cell, "span", {}, name);
}

const drawn = new Set();
const draw = {};                                          // what a tab does when it is first shown
const TABS = {};                                          // by name, in the order of the page's sections: the titles
for (const section of document.querySelectorAll("main > section")) TABS[section.id.replace(/-tab$/, "")] = section.dataset.title;
function show(tab) {                                      // no element's id is a tab's name: nothing is scrolled to
  history.replaceState(null, "", `#${tab}`);
  for (const button of document.querySelectorAll("nav button")) {
    const on = button.dataset.tab === tab;
    button.setAttribute("aria-selected", on);
    button.tabIndex = on ? 0 : -1;
    if (on) button.scrollIntoView({ block: "nearest", inline: "nearest" });                 // a narrow window has them in one line
  }
  for (const section of document.querySelectorAll("main > section")) section.classList.toggle("on", section.id === `${tab}-tab`);
  if (drawn.has(tab)) return;
  drawn.add(tab);
  draw[tab]();
}
function makeTabs() {
  const names = Object.keys(TABS).filter((tab) => draw[tab]);
  for (const tab of names) {
    const button = make($("#tabs"), "button", { "data-tab": tab, role: "tab", "aria-controls": `${tab}-tab` }, TABS[tab]);
    button.onclick = () => show(tab);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = names[(names.indexOf(tab) + step + names.length) % names.length];
      show(next);
      $(`nav button[data-tab="${next}"]`).focus();
    };
  }
  const [wanted, index] = location.hash.slice(1).split("/");       // #kernels/3: that one
  show(draw[wanted] ? wanted : "graph");
  if (wanted === "kernels" && calls[index]) showKernel(Number(index));
}

// ---- tables ----

// columns: name; text of a row, or bar (0 to 1), or fill; number: to the right; clamp: two lines; value: what sorting goes by
function table(place, columns, rows, rowPressed) {
  const head = make($(`${place} thead`), "tr"), body = $(`${place} tbody`);
  let sorted = -1, up = false, wanted = null;
  function fill() {
    body.textContent = "";
    for (const row of rows) {
      if (wanted && !wanted(row)) continue;
      const tr = make(body, "tr", { "data-row": row.index });
      if (rowPressed) {
        tr.tabIndex = 0;
        onPress(tr, () => rowPressed(row));
      }
      for (const column of columns) {
        const td = make(tr, "td", { class: column.number ? "n" : "w" });
        if (column.bar) make(td, "div", { class: "bar" }).style.backgroundSize = `${100 * column.bar(row)}% 100%`;
        else if (column.fill) column.fill(td, row);
        else make(td, "div", { class: column.clamp ? "clamp" : "" }, column.text ? column.text(row) : row[column.key]);
      }
    }
  }
  columns.forEach((column, k) => {
    const th = make(head, "th", { class: column.number ? "n" : "", scope: "col" });
    make(th, "button", {}, column.name).onclick = () => {
      up = sorted === k ? !up : !column.number;
      sorted = k;
      const key = (row) => (column.value ? column.value(row) : row[column.key]);
      rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.index - b.index) * (up ? 1 : -1));
      for (const other of head.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      fill();
    };
  });
  fill();
  return (filter) => ((wanted = filter), fill());
}

function mark(place, index) {
  for (const row of document.querySelectorAll(`${place} tbody tr`)) row.classList.toggle("on", Number(row.dataset.row) === index);
  const row = $(`${place} tr.on`);
  if (row) row.scrollIntoView({ block: "nearest" });
}
