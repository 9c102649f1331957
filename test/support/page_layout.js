// SPDX-License-Identifier: MIT
// What a page shows, as data: rectangles, lines of text, controls and shapes, each with its place, in the order in which they are painted.
function pageLayout(high) {
  const round = (n) => Math.round(n * 64) / 64,         // the grain of browsers
     items = [];
  const seen = (color) => color && color !== "none" && !/^rgba.*, 0\)$/.test(color);
  const whole = { left: 0, top: 0, right: innerWidth, bottom: high };
  const meet = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const empty = (r) => r.right - r.left < 0.01 || r.bottom - r.top < 0.01;
  const place = (r) => [r.left, r.top, r.right - r.left, r.bottom - r.top].map(round);
  const font = (style) => ["font-family", "font-size", "font-weight", "font-variant-numeric"].map((p) => `${p}:${style.getPropertyValue(p)}`).join(";");
  const box = (r, color, clip) => { const part = meet(r, clip); if (seen(color) && !empty(part)) items.push(["box", ...place(part), color]); };

  function decorate(element, style, clip) {
    const r = element.getBoundingClientRect();
    box(r, style.backgroundColor, clip);
    if (style.backgroundImage !== "none") {               // a bar: one colour, some percent wide
      const share = parseFloat(style.backgroundSize) / 100;
      box({ left: r.left, top: r.top, right: r.left + r.width * share, bottom: r.bottom }, /rgb[^)]*\)/.exec(style.backgroundImage)[0], clip);
    }
    for (const side of ["Top", "Right", "Bottom", "Left"]) {
      const width = parseFloat(style[`border${side}Width`]);
      if (!width || style[`border${side}Style`] === "none") continue;
      const edge = { left: r.left, top: r.top, right: r.right, bottom: r.bottom };
      if (side === "Top") edge.bottom = r.top + width;
      if (side === "Bottom") edge.top = r.bottom - width;
      if (side === "Left") edge.right = r.left + width;
      if (side === "Right") edge.left = r.right - width;
      box(edge, style[`border${side}Color`], clip);
    }
  }

  // its lines, as they are broken
  function write(node, style, clip) {
    const text = node.data, range = document.createRange();
    let line = "", at = null;
    const end = () => { if (at && line.trim() && !empty(meet(at, clip))) items.push(["text", ...place(at), style.color, font(style), line, place(clip)]); };
    for (let k = 0; k < text.length; k++) {
      range.setStart(node, k);
      range.setEnd(node, k + 1);
      const r = range.getClientRects()[0];
      if (!r || !r.width) continue;
      if (!at || Math.abs(r.top - at.top) > 1) {
        end();
        [line, at] = ["", { left: r.left, top: r.top, right: r.right, bottom: r.bottom }];
      }
      line += /\s/.test(text[k]) ? " " : text[k];
      at.right = r.right;
    }
    end();
  }

  const SHOWN = ["fill", "fill-opacity", "stroke", "stroke-width", "text-anchor", "paint-order"];
  function shape(element, style, clip) {
    const copy = element.cloneNode(true), m = element.getScreenCTM();
    for (const { name } of [...copy.attributes]) if (/^(class|style|id|data-.*|tabindex|role|aria-.*|transform)$/.test(name)) copy.removeAttribute(name);
    copy.setAttribute("style", SHOWN.map((p) => `${p}:${style.getPropertyValue(p)}`).join(";") + ";" + font(style));
    copy.setAttribute("transform", `matrix(${[m.a, m.b, m.c, m.d, m.e, m.f].map((n) => Math.round(n * 1e4) / 1e4)})`);
    items.push(["shape", copy.outerHTML, place(clip)]);
  }

  function walk(element, clip) {
    const style = getComputedStyle(element);
    if (!element.checkVisibility({ visibilityProperty: true }) || /^(SCRIPT|STYLE)$/.test(element.tagName)) return;
    if (/^(INPUT|SELECT)$/.test(element.tagName) || element.matches(".tools button")) {       // painted by the browser
      const copy = element.cloneNode(true);
      copy.removeAttribute("id");
      if (!empty(meet(element.getBoundingClientRect(), clip))) items.push(["control", ...place(element.getBoundingClientRect()), font(style), style.padding, copy.outerHTML]);
      return;
    }
    if (element instanceof SVGElement && element.tagName !== "svg" && element.tagName !== "g") return shape(element, style, clip);
    if (!(element instanceof SVGElement) || element.tagName === "svg") decorate(element, style, clip);
    const inner = style.overflow !== "visible" ? meet(clip, element.getBoundingClientRect()) : clip;
    if (empty(inner)) return;
    for (const child of element.childNodes)
      if (child.nodeType === 3) write(child, style, inner);
      else if (child.nodeType === 1) walk(child, inner);
  }
  walk(document.body, whole);
  return items;
}
