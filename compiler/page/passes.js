// ---- passes ----

// rows of the table: [old line or -1, new line or -1, same]
function sideBySide(a, b) {
  const rows = [];
  let i = 0, j = 0;
  for (const [s, t] of [...sameLines(a, b), [a.length, b.length]]) {
    while (i < s || j < t) rows.push([i < s ? i++ : -1, j < t ? j++ : -1, false]);
    if (s < a.length) rows.push([i++, j++, true]);
  }
  return rows;
}

const CONTEXT = 3, ROWS_MAX = 20000;
function showPass(k) {
  const a = stateLines(Math.max(0, k - 1)), b = stateLines(k), rows = sideBySide(a, b), pass = facts.passes[k];
  const changed = rows.filter((row) => !row[2]).length, everything = $("#whole").checked;
  $("#which").textContent = k ? `${pass.pass}: ${pass.rewrites} rewrites, ${changed} lines differ` : "before the first pass";
  const near = new Array(rows.length).fill(everything || k === 0);
  rows.forEach((row, r) => {
    if (!row[2]) for (let n = Math.max(0, r - CONTEXT); n <= Math.min(rows.length - 1, r + CONTEXT); n++) near[n] = true;
  });
  const box = $(".diff"), body = document.createElement("tbody");
  let alike = 0, shown = 0;
  const note = (text) => make(make(body, "tr", { class: "cut" }), "td", { colspan: 4 }, text);
  rows.forEach(([i, j, same], r) => {
    if (near[r] && shown < ROWS_MAX) {
      if (alike) note(`${alike} lines alike`);
      alike = 0;
      shown++;
      const tr = make(body, "tr", { class: same ? "" : i < 0 ? "new" : j < 0 ? "gone" : "both" });
      make(tr, "td", { class: "no" }, i < 0 ? "" : i + 1);
      make(tr, "td", { class: "old", title: i < 0 ? "" : a[i] }, i < 0 ? "" : a[i]);
      make(tr, "td", { class: "no" }, j < 0 ? "" : j + 1);
      make(tr, "td", { class: "now", title: j < 0 ? "" : b[j] }, j < 0 ? "" : b[j]);
    } else alike++;
  });
  if (alike) note(shown < ROWS_MAX ? `${alike} lines alike` : `${alike} lines are not shown`);
  box.textContent = "";
  const sheet = make(box, "table"), widths = make(sheet, "colgroup");
  for (const kind of ["no", "text", "no", "text"]) make(widths, "col", { class: kind });
  sheet.appendChild(body);
  for (const row of document.querySelectorAll("#passes-tab tbody tr")) row.classList.toggle("on", Number(row.dataset.row) === k);
  box.scrollTop = 0;
}

draw.passes = () => {
  const rows = facts.passes.map((pass, index) => ({ ...pass, index }));
  let shown = Math.max(rows.findIndex((pass) => pass.rewrites > 0), Math.min(1, rows.length - 1));         // the first that changed something
  table("#passes-tab", [
    { name: "#", key: "index", number: true },
    { name: "pass", key: "pass", text: (p) => p.pass || "(start)" },
    { name: "rewrites", key: "rewrites", number: true },
    { name: "size", key: "size", number: true },
    { name: "level", key: "level" },
  ], rows, (row) => showPass((shown = row.index)));
  $("#whole").onchange = () => showPass(shown);
  $("#wrap").onchange = () => $(".diff").classList.toggle("wrap", $("#wrap").checked);
  if (rows.length) showPass(shown);
  const row = $("#passes-tab tr.on"), list = row && row.closest(".wide");
  if (row) list.scrollTop = row.offsetTop - list.offsetTop;
};
