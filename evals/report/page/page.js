"use strict";
// Behaviour of the report page: sorting, charts, and the case browser. It computes no figure; all of them come worded from Python.
// Text of models and data only ever becomes a text node or an attribute value of an element named here; no markup is made from strings.
(() => {
  const ROW_HEIGHT = 60;
  const WORDS = { near_miss: "near miss", below: "below threshold", truncated: "cut off", malformed: "unreadable", too_long: "too long" };
  const WRONG = ["trivial", "duplicate", "near_miss", "violation", "unmatched", "unsupported"];
  const NEAREST = ["unmatched", "unsupported", "near_miss"]; // their label is the nearest one, and no pairing
  const PATTERNS = ["none", "7 4", "2 3", "9 3 2 3"];
  const report = JSON.parse(byId("report-data").textContent);

  function byId(id) { return document.getElementById(id); }
  function word(name) { return WORDS[name] || name; }
  function number(value) { return value.toLocaleString("en-US"); }
  function say(text) { byId("said").textContent = text; }

  function build(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === false || value === null || value === undefined) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }
  function h(name, attributes, ...children) { return build(document.createElement(name), attributes, children); }
  function s(name, attributes, ...children) { return build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children); }

  // As evals.report.numbers.share writes it; a tie, exact in binary only at odd eighths, goes to the even digit as in Python.
  function share(value) {
    if (value === null || value === undefined) return "-";
    const hundred = value * 100, down = Math.floor(hundred);
    const text = hundred - down === 0.5 ? ((down + (down % 2)) / 100).toFixed(2) : value.toFixed(2);
    return text.startsWith("0") ? text.slice(1) : text;
  }

  // ---- Tables -------------------------------------------------------------------------------------------------------------------

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.dataset.sortable) return;
      const title = head.textContent;
      const button = h("button", { type: "button", class: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const downwards = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "descending" : head.dataset.sortable === "number";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", downwards ? "descending" : "ascending");
        sortRows(table.tBodies[0], column, downwards);
        say(`Sorted by ${title}, ${downwards ? "highest" : "lowest"} first.`);
      });
    });
  }

  function sortRows(body, column, downwards) {
    const keyed = [...body.rows].map((row) => {
      const text = row.cells[column].dataset.sort;
      return { row, text, value: Number(text) };
    });
    const words = keyed.some((one) => Number.isNaN(one.value));
    keyed.sort((a, b) => {
      if (!a.text || !b.text) return (a.text ? 0 : 1) - (b.text ? 0 : 1); // undefined comes last, whichever way
      const order = words ? a.text.localeCompare(b.text) : a.value - b.value;
      return downwards ? -order : order;
    });
    body.append(...keyed.map((one) => one.row));
  }

  function addCopyButtons() {
    for (const code of document.querySelectorAll(".signature")) {
      code.before(copyButton("Copy", () => code.textContent, code));
    }
  }

  function copyButton(title, text, shown) {
    return h("button", { type: "button", class: "plain copy", onclick: async (event) => {
      const button = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = "Copied";
        say("Copied.");
      } catch {
        if (shown) getSelection().selectAllChildren(shown);
        button.textContent = shown ? "Selected: copy it with the keyboard" : "Copy the address instead";
      }
      setTimeout(() => { button.textContent = title; }, 2500);
    } }, title);
  }

  // A group of radio buttons that looks like a row of pills. `options` are [value, content].
  function choices(legend, name, options, chosen, change) {
    return h("fieldset", { class: "choices" }, h("legend", {}, legend), options.map(([value, content]) => h("label", {},
      h("input", { type: "radio", name, value, checked: String(value) === String(chosen), onchange: () => change(value) }), content)));
  }

  function badge(row) { return h("span", { class: `badge c${row % 8}` }, String(row + 1)); }
  function rowOptions() { return report.rows.map((row, place) => [place, [badge(place), h("span", { dir: "auto", class: "name" }, row.label)]]); }

  // Slices come as a table for every row and way of slicing; one of them is shown, or one figure of all rows side by side.
  function enhanceSlices() {
    const tables = [...document.querySelectorAll("#slice-tables > [data-by]")];
    if (!tables.length) return;
    const ways = [...new Set(tables.map((one) => one.dataset.by))], many = report.rows.length > 1;
    const heads = [...tables[0].querySelectorAll("thead th")].map((head) => head.textContent);
    const first = heads.indexOf("convs.") + 1, figures = heads.map((title, place) => [place, title]).slice(first);
    let by = ways[0], row = many ? "all" : "1", figure = first;
    const together = h("div", {});
    const pills = choices("Figure", "slice-figure", figures, figure, (value) => { figure = Number(value); show(); });
    const show = () => {
      tables.forEach((one) => { one.hidden = one.dataset.by !== by || one.dataset.row !== row; });
      pills.hidden = row !== "all";
      together.replaceChildren(row === "all" ? sliceTable(tables.filter((one) => one.dataset.by === by), by, figure, heads[figure]) : "");
    };
    const rows = rowOptions().map(([place, content]) => [String(place + 1), content]);
    if (ways.length > 1) byId("slice-tables").before(choices("By", "slice-by", ways.map((way) => [way, way]), by, (value) => { by = value; show(); }));
    if (many) byId("slice-tables").before(choices("Row", "slice-row", [["all", "all rows"], ...rows], row, (value) => { row = value; show(); }), pills, together);
    show();
  }

  // One figure of every row by slice, from cells that the tables of the rows hold.
  function sliceTable(tables, by, figure, title) {
    const lines = new Map(), heads = [...tables[0].querySelectorAll("thead th")].map((head) => head.textContent);
    const counts = heads.slice(1, heads.indexOf("convs.") + 1);
    tables.forEach((table, place) => {
      for (const line of table.querySelectorAll("tbody tr")) {
        const name = line.cells[0].dataset.sort;
        if (!lines.has(name)) lines.set(name, { first: line, cells: [] });
        lines.get(name).cells[place] = line.cells[figure];
      }
    });
    const body = [...lines.values()].map(({ first, cells }) => {
      const head = first.cells[0].cloneNode(true), link = head.querySelector("a");
      if (link) link.setAttribute("href", link.getAttribute("href").replace(/only=\d+&/, ""));
      return h("tr", {}, head, counts.map((_, place) => place + 1).map((column) => first.cells[column].cloneNode(true)),
        tables.map((_, place) => (cells[place] ? cells[place].cloneNode(true) : h("td", { class: "number", "data-sort": "" }, "-"))));
    });
    const sortable = (kind, ...content) => h("th", { scope: "col", class: kind === "number" ? "number" : null, "data-sortable": kind }, ...content);
    const caption = `${title} by ${by}, all rows`;
    const table = h("table", { class: "slices" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, sortable("text", `by ${by}`),
      counts.map((head) => sortable("number", head)), tables.map((_, place) => sortable("number", h("span", { class: "unseen" }, "row "), badge(place))))),
    h("tbody", {}, body));
    makeSortable(table);
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
  }

  // ---- Charts -------------------------------------------------------------------------------------------------------------------

  const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
  const SCALES = [[0.1, 0.02], [0.2, 0.05], [0.5, 0.1], [1, 0.25]]; // the end of an axis, and the step of its marks

  // The frame of a chart: from 0 to 1 to the right, from 0 to the end of a scale upwards.
  function frame(box, xTitle, yTitle, [end, step] = [1, 0.25]) {
    const { left, top, width, height } = box;
    const x = (value) => left + value * width, y = (value) => top + (1 - value / end) * height;
    const text = (value) => (value === 0 ? "0" : share(value));
    const upwards = Array.from({ length: Math.round(end / step) + 1 }, (_, place) => place * step);
    const parts = [
      QUARTERS.map((value) => [s("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: top + height }),
        s("text", { x: x(value), y: top + height + 16, "text-anchor": "middle" }, text(value))]),
      upwards.map((value) => [s("line", { class: "grid", x1: left, x2: left + width, y1: y(value), y2: y(value) }),
        s("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, text(value))]),
    ];
    parts.push(s("text", { x: left + width / 2, y: top + height + 34, "text-anchor": "middle" }, xTitle));
    parts.push(s("text", { class: "title", x: left - 34, y: top - 12 }, yTitle));
    return { x, y, parts };
  }

  function svg(width, height, label, ...parts) {
    const node = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
    node.style.maxWidth = `${width}px`; // text keeps its size where there is more room, as on paper
    return node;
  }

  function path(points) { return points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""); }

  function dataTable(title, heads, rows) {
    return h("details", {}, h("summary", {}, title), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      h("table", {}, h("caption", {}, title), h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: "number" }, head)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((text) => h("td", { class: "number" }, text))))))));
  }

  // Redraws when the width of its place changes, so that text keeps its size.
  function onWidth(node, draw) {
    let last = 0;
    const check = () => {
      const width = Math.round(node.clientWidth);
      if (width && width !== last) { last = width; draw(width); }
    };
    new ResizeObserver(check).observe(node);
    check();
  }

  function drawReliability(area) {
    const plot = h("figure", {}), side = h("div", {}), below = h("div", {});
    let chosen = Math.max(0, report.rows.findIndex((row) => row.reliability.length));
    const show = () => {
      const row = report.rows[chosen];
      const width = plot.clientWidth || 480;
      if (!row.reliability.length) {
        plot.replaceChildren(h("p", { class: "note" }, "There is nothing to draw for this row."));
        below.replaceChildren();
      } else {
        plot.replaceChildren(reliabilityChart(row, chosen, Math.min(width, 500)), reliabilityKey(chosen));
        below.replaceChildren(dataTable("The diagram as a table", ["salience", "kept", "candidates", "band from", "to"], reliabilityRows(row)));
      }
      side.replaceChildren(
        h("dl", { class: "told" }, row.figures.map(([name, value, why]) => [h("dt", {}, name),
          h("dd", {}, h("span", { class: "big" }, value), h("span", { class: "why" }, why))])),
        h("h3", {}, "What it says"), h("ul", { class: "reading" }, row.reading.map((line) => h("li", {}, line))), below);
    };
    area.append(
      h("p", { class: "note" }, "How often a candidate of a given salience is a required memory, beside where that curve lies 95% of the time if salience is a true "
        + "probability. Salience as a model gives it is a grade: what counts first is that the curve rises."),
      choices("Row", "reliability-row", rowOptions(), chosen, (value) => { chosen = Number(value); show(); }),
      h("div", { class: "beside" }, plot, side));
    onWidth(plot, show);
  }

  function reliabilityRows(row) {
    const bands = new Map(row.band.map(([at, low, high]) => [at.toFixed(3), [share(low), share(high)]]));
    return row.reliability.map(([at, kept, count]) => [share(at), share(kept), number(count), ...(bands.get(at.toFixed(3)) || ["-", "-"])]);
  }

  function reliabilityChart(row, place, width) {
    const size = width - 50 - 14, box = { left: 50, top: 30, width: size, height: size };
    const { x, y, parts } = frame(box, "salience", "share kept");
    const edge = [...row.band.map(([at, , high]) => [x(at), y(high)]), ...row.band.map(([at, low]) => [x(at), y(low)]).reverse()];
    parts.push(row.band.length > 1 ? s("path", { class: "band", d: `${path(edge)}Z` })
      : row.band.map(([at, low, high]) => s("rect", { class: "band", x: x(at) - 5, width: 10, y: y(high), height: Math.max(1, y(low) - y(high)) })));
    parts.push(s("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
    parts.push(s("path", { class: "line", d: path(row.reliability.map(([at, kept]) => [x(at), y(kept)])) }));
    const most = Math.max(...row.reliability.map((point) => point[2]));
    const [least, more] = row.reliability.length > 30 ? [1.5, 2] : [3, 4]; // many dots are small
    row.reliability.forEach(([at, kept, count]) => parts.push(s("circle", { class: "dot", cx: x(at), cy: y(kept), r: least + more * Math.sqrt(count / most) },
      s("title", {}, `salience ${share(at)}: ${share(kept)} kept of ${number(count)} candidates`))));
    const floor = box.top + size + 50, tall = 62, bar = Math.max(1.5, Math.min(9, size / row.reliability.length - 1));
    parts.push(s("text", { class: "title", x: box.left - 34, y: floor + 2 }, `candidates (at most ${number(most)} at one value)`));
    parts.push(s("line", { class: "axis", x1: x(0), x2: x(1), y1: floor + 12 + tall, y2: floor + 12 + tall }));
    row.reliability.forEach(([at, , count]) => {
      const high = Math.max(1, tall * count / most);
      parts.push(s("rect", { class: "bar", x: x(at) - bar / 2, width: bar, y: floor + 12 + tall - high, height: high },
        s("title", {}, `salience ${share(at)}: ${number(count)} candidates`)));
    });
    const label = `Reliability diagram of row ${place + 1}, ${row.label}: `
      + row.reliability.slice(0, 12).map(([at, kept, count]) => `salience ${share(at)}, ${share(kept)} kept of ${number(count)}`).join("; ")
      + (row.reliability.length > 12 ? "; and further values, all in the table beside it" : "");
    return svg(width, floor + tall + 18, label, s("g", { class: `c${place % 8}` }, parts));
  }

  function reliabilityKey(place) {
    const sign = (...shapes) => s("svg", { class: `chart c${place % 8}`, width: 24, height: 12, viewBox: "0 0 24 12", "aria-hidden": "true" }, ...shapes);
    const key = [
      [sign(s("line", { class: "line", x1: 0, x2: 24, y1: 6, y2: 6 }), s("circle", { class: "dot", cx: 12, cy: 6, r: 4 })), "share kept (isotonic); larger where there are more candidates"],
      [sign(s("rect", { class: "band", x: 1, y: 1, width: 22, height: 10 })), "where it lies if salience is a probability (95%)"],
      [sign(s("line", { class: "diagonal", x1: 0, x2: 24, y1: 11, y2: 1 })), "salience is the share kept"],
    ];
    const list = h("ul", { class: "key" }, key.map(([shape, text]) => h("li", {}, shape, text)));
    list.querySelectorAll("svg").forEach((one) => { one.style.width = "24px"; one.style.display = "inline"; });
    return list;
  }

  // Figures when candidates at or above `at` count: those of the lowest level that is not below it.
  function pointAt(curve, at) {
    let found = null;
    for (const point of curve) {
      if (point[0] < at - 1e-12) break;
      found = point;
    }
    return found;
  }

  // The steps of one figure from the right to the left; a level's value holds down to the next level, the last one down to 0. Above the
  // highest level nothing is returned: recall and F1 are 0 there, precision is undefined.
  function steps(curve, column) {
    const silent = column > 1 && curve[0][column] !== null;
    let run = silent ? [[1, 0], [curve[0][0], 0]] : null;
    const runs = run ? [run] : [];
    curve.forEach((point, place) => {
      const value = point[column], until = place + 1 < curve.length ? curve[place + 1][0] : 0;
      if (value === null) { run = null; return; }
      if (!run) runs.push(run = []);
      run.push([point[0], value], [until, value]);
    });
    return runs;
  }

  function drawThreshold(area) {
    const drawn = report.rows.map((row, place) => [row, place]).filter(([row]) => row.curve.length);
    if (!drawn.length) {
      area.append(h("p", { class: "note" }, "No row has a curve over the threshold: nothing was returned, or no curve was computed."));
      return;
    }
    const plots = ["Precision", "Recall", "F1"].map((title, place) => ({ title, column: place + 1, node: h("figure", {}) }));
    let chosen = "all", at = drawn[0][0].threshold;
    const slider = h("input", { type: "range", min: 0, max: 1, step: 0.01, id: "threshold-at", oninput: () => { at = Number(slider.value); show(); } });
    slider.value = String(at);
    const output = h("output", { for: "threshold-at" }), table = h("div", {});
    const picked = () => drawn.filter(([, place]) => chosen === "all" || Number(chosen) === place);
    const highest = Math.max(...drawn.flatMap(([row]) => row.curve.flatMap((point) => point.slice(1, 4))));
    const scale = SCALES.find(([end]) => end >= highest) || SCALES[3];
    const show = () => {
      output.textContent = share(at);
      slider.setAttribute("aria-valuetext", share(at));
      plots.forEach((plot) => plot.node.replaceChildren(thresholdChart(plot, picked(), plot.node.clientWidth || 320, at, scale)));
      table.replaceChildren(thresholdTable(picked(), at));
    };
    area.append(
      h("p", { class: "note" }, "Only candidates at or above the operating threshold count. A dot marks the threshold that each row was scored at; the slider "
        + "shows what another one would have given on these cases."),
      choices("Rows", "threshold-row", [["all", "all rows"], ...rowOptions().filter(([place]) => report.rows[place].curve.length)], "all",
        (value) => { chosen = value; show(); }),
      h("div", { class: "thirds" }, plots.map((plot) => plot.node)),
      h("div", { class: "slide" }, h("label", { for: "threshold-at" }, "At threshold"), slider, output), table,
      dataTable("The curves as a table", ["row", "threshold", "precision", "recall", "F1", "candidates"], drawn.flatMap(([row, place]) => row.curve.map(
        ([level, precision, recall, f1, count]) => [String(place + 1), share(level), share(precision), share(recall), share(f1), number(count)]))));
    onWidth(plots[0].node, show);
  }

  function thresholdChart(plot, rows, width, at, scale) {
    const box = { left: 42, top: 30, width: width - 42 - 12, height: Math.min(width - 54, 250) };
    const { x, y, parts } = frame(box, "salience threshold", plot.title, scale);
    const marks = new Set(rows.map(([row]) => row.threshold));
    marks.forEach((mark) => parts.push(s("line", { class: "at", x1: x(mark), x2: x(mark), y1: y(0), y2: box.top })));
    parts.push(s("line", { class: "cursor", x1: x(at), x2: x(at), y1: y(0), y2: box.top }));
    rows.forEach(([row, place]) => {
      const group = s("g", { class: `c${place % 8}` });
      steps(row.curve, plot.column).forEach((run) => group.append(s("path", {
        class: "line", d: path(run.map(([level, value]) => [x(level), y(value)])), "stroke-dasharray": PATTERNS[place % PATTERNS.length] })));
      const here = pointAt(row.curve, row.threshold);
      if (here && here[plot.column] !== null) group.append(s("circle", { class: "dot", cx: x(row.threshold), cy: y(here[plot.column]), r: 5 },
        s("title", {}, `row ${place + 1} at ${share(row.threshold)}: ${share(here[plot.column])}`)));
      parts.push(group);
    });
    const label = `${plot.title} over the salience threshold. ` + rows.map(([row, place]) => {
      const here = pointAt(row.curve, row.threshold);
      return `Row ${place + 1} at its threshold ${share(row.threshold)}: ${share(here ? here[plot.column] : null)}`;
    }).join("; ") + ". All values are in the table below.";
    return svg(width, box.top + box.height + 42, label, parts);
  }

  function thresholdTable(rows, at) {
    const heads = ["row", "precision", "recall", "F1", "candidates", "scored at"];
    const caption = `On these cases with threshold ${share(at)}`;
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head, place) => h("th", { scope: "col", class: place ? "number" : null }, head)))),
      h("tbody", {}, rows.map(([row, place]) => {
        const point = pointAt(row.curve, at);
        const line = s("svg", { class: `chart c${place % 8}`, width: 30, height: 10, viewBox: "0 0 30 10", "aria-hidden": "true" },
          s("line", { class: "line", x1: 0, x2: 30, y1: 5, y2: 5, "stroke-dasharray": PATTERNS[place % PATTERNS.length] }));
        line.style.width = "30px"; line.style.display = "inline-block";
        const texts = point ? [share(point[1]), share(point[2]), share(point[3]), number(point[4])] : ["-", ...[2, 3].map((column) => share(row.curve[0][column] === null ? null : 0)), "0"];
        return h("tr", {}, h("th", { scope: "row" }, badge(place), " ", line, " ", h("span", { dir: "auto" }, row.label)),
          [...texts, share(row.threshold)].map((text) => h("td", { class: "number" }, text)));
      }))));
  }

  // ---- Case browser: data -------------------------------------------------------------------------------------------------------

  const lines = byId("case-data").textContent.split("\n");
  const index = JSON.parse(lines[0]); // cases: [id, language, tags, snippet, first result, results, length]; results: [case, row, repeat, ...]
  const repeats = index.results.some((result) => result[2] > 0);
  const hay = { cases: [], results: [] };

  function detailOf(place) { return JSON.parse(lines[place + 1]); }

  // What a search looks at: id and conversation, messages, gold and forbidden statements; of a result its predictions and why they
  // count as they do, or the reply without any.
  function addHay(place) {
    const one = detailOf(place), [id, , , , first] = index.cases[place];
    const texts = [id, one.conversation, ...[...one.context, ...one.messages].map((message) => `${message[1]}\n${message[2]}`)];
    for (const gold of [...one.gold, ...one.forbidden]) texts.push(gold.text, gold.reason || "", ...gold.also);
    hay.cases[place] = texts.join("\n").toLowerCase();
    one.results.forEach((result, offset) => {
      const own = result.predictions.length ? result.predictions.map((entry) => `${entry.text}\n${entry.reason}`).join("\n") : result.reply || "";
      hay.results[first + offset] = own.toLowerCase();
    });
  }

  function fillHay(deadline) {
    while (hay.cases.length < index.cases.length) {
      addHay(hay.cases.length);
      if (deadline && deadline.timeRemaining() < 2) { later(fillHay); return; }
    }
  }
  function later(work) { (window.requestIdleCallback || ((run) => setTimeout(() => run(null), 50)))(work); }

  const bit = (name) => 1 << report.outcomes.indexOf(name);
  const wrong = WRONG.reduce((sum, name) => sum | bit(name), 0);
  const ASKED = { // outcome filters beyond a single outcome: mask -> whether it passes
    wrong: ["any false positive", (mask) => (mask & wrong) !== 0],
    flawed: ["anything wrong or missed", (mask) => (mask & (wrong | bit("missed"))) !== 0],
    clean: ["nothing wrong or missed", (mask) => (mask & (wrong | bit("missed"))) === 0],
  };

  function matching(filter) {
    const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) fillHay(null);
    const only = filter.only === "" ? -1 : Number(filter.only) - 1;
    const passes = filter.outcome === "" ? null : ASKED[filter.outcome] ? ASKED[filter.outcome][1] : (mask) => (mask & bit(filter.outcome)) !== 0;
    const tag = filter.tag === "" ? -1 : index.tags.indexOf(filter.tag), language = filter.lang === "" ? -1 : index.languages.indexOf(filter.lang);
    const length = filter.length === "" ? -1 : index.lengths.indexOf(filter.length);
    const status = filter.status === "" ? -1 : report.statuses.indexOf(filter.status);
    const found = [];
    index.results.forEach(([place, row, , reply, mask], result) => {
      if (only >= 0 && row !== only) return;
      if (status >= 0 && reply !== status) return;
      if (passes && !passes(mask)) return;
      const one = index.cases[place];
      if (filter.tag !== "" && !one[2].includes(tag)) return;
      if (filter.lang !== "" && one[1] !== language) return;
      if (filter.length !== "" && one[6] !== length) return;
      if (words.every((each) => hay.cases[place].includes(each) || hay.results[result].includes(each))) found.push(result);
    });
    return found;
  }

  // ---- Case browser: parts ------------------------------------------------------------------------------------------------------

  const FILTERS = ["q", "only", "outcome", "tag", "lang", "length", "status"];
  const state = { q: "", only: "", outcome: "", tag: "", lang: "", length: "", status: "", open: -1, compare: false };
  let found = [], active = -1, keysOn = true, quiet = true; // quiet: the address stays as it was given
  const ui = {};

  function mountBrowser() {
    const browser = byId("browser");
    if (!index.results.length) {
      browser.append(h("p", { class: "note" }, "No case was completed, so there is none to show."));
      return;
    }
    ui.q = h("input", { type: "search", id: "q", autocomplete: "off", spellcheck: "false", oninput: () => { state.q = ui.q.value; refilter(); } });
    const field = (title, node, wide) => h("label", { class: wide ? "wide-field" : null }, title, node);
    ui.count = h("strong", { id: "count" });
    ui.filler = h("div", { class: "filler", role: "presentation" });
    ui.list = h("div", { class: "list", role: "listbox", id: "list", tabindex: 0, "aria-label": "Results, one for each case and row", onscroll: paint,
      onkeydown: listKeys }, ui.filler);
    ui.detail = h("article", { class: "detail", id: "detail", tabindex: -1, "aria-label": "The chosen case" }, h("p", { class: "nothing" }, "Choose a case."));
    browser.append(
      h("form", { class: "filters", role: "search", "aria-label": "Cases", onsubmit: (event) => event.preventDefault() },
        field("Search messages, gold, predictions, reasons and ids", ui.q, true),
        field("Row", select("only", report.rows.map((row, place) => [String(place + 1), `${place + 1} ${row.label}`]))),
        field("Outcome", select("outcome", outcomeOptions())),
        index.tags.length ? field("Tag", select("tag", [...index.tags].sort().map((tag) => [tag, tag]))) : null,
        index.languages.length > 1 ? field("Language", select("lang", [...index.languages].sort().map((name) => [name, name]))) : null,
        index.lengths.length > 1 ? field("Length", select("length", index.lengths.map((name) => [name, name]))) : null,
        field("Reply", select("status", statusOptions())),
        h("button", { type: "button", class: "plain", onclick: clearFilters }, "Clear")),
      h("div", { class: "count-line" }, h("span", {}, ui.count, ` of ${number(index.results.length)} results of ${number(index.cases.length)} cases`),
        h("span", { class: "tally" }, h("span", { class: "t-hit" }, "\u2713 hits"), h("span", { class: "t-false" }, "? false positives"), h("span", { class: "t-missed" }, "\u00d7 missed")), keyHelp()),
      h("div", { class: "panes" }, ui.list, ui.detail));
    document.addEventListener("keydown", pageKeys);
    new ResizeObserver(paint).observe(ui.list);
  }

  function select(name, options) {
    ui[name] = h("select", { id: `filter-${name}`, onchange: () => { state[name] = ui[name].value; refilter(); } },
      h("option", { value: "" }, "any"), options.map(([value, text]) => h("option", { value }, text)));
    return ui[name];
  }

  function outcomeOptions() {
    const all = index.results.reduce((mask, result) => mask | result[4], 0);
    const single = report.outcomes.filter((name) => all & bit(name)).map((name) => [name, name === "missed" ? "missed memory" : word(name)]);
    return [...single, ...Object.entries(ASKED).map(([value, [text]]) => [value, text])];
  }

  function statusOptions() {
    const there = new Set(index.results.map((result) => result[3]));
    return report.statuses.filter((_, place) => there.has(place)).map((name) => [name, word(name)]);
  }

  function keyHelp() {
    const keys = [["/", "search"], ["j k", "next and previous result (also arrow keys in the list)"], ["Enter", "read the chosen case"], ["c", "all rows side by side"], ["Esc", "back to the list"]];
    return h("details", { class: "keys" }, h("summary", {}, "Keys"), h("dl", {}, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
      h("label", {}, h("input", { type: "checkbox", checked: true, onchange: (event) => { keysOn = event.target.checked; } }), " single-letter keys"));
  }

  function clearFilters() {
    FILTERS.forEach((name) => { state[name] = ""; ui[name] && (ui[name].value = ""); });
    refilter();
    ui.q.focus();
  }

  function refilter() {
    found = matching(state);
    active = found.indexOf(state.open);
    ui.count.textContent = number(found.length);
    say(`${number(found.length)} ${found.length === 1 ? "result" : "results"}`);
    paint(); // first the height, as a list cannot scroll beyond it
    ui.list.scrollTop = active > 0 ? (active - 1) * ROW_HEIGHT : 0;
    paint();
    highlight();
    remember();
  }

  // Only the visible part of the list is in the document.
  function paint() {
    ui.filler.style.height = `${found.length * ROW_HEIGHT}px`;
    if (!found.length) {
      ui.filler.replaceChildren(h("p", { class: "nothing" }, "Nothing matches. Clear a filter, or search for fewer words."));
      ui.filler.style.height = "auto";
      ui.list.removeAttribute("aria-activedescendant");
      return;
    }
    const top = ui.list.scrollTop, height = ui.list.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - 5), last = Math.min(found.length, Math.ceil((top + height) / ROW_HEIGHT) + 5);
    const options = [];
    for (let place = first; place < last; place += 1) options.push(option(place));
    ui.filler.replaceChildren(...options);
    if (active >= first && active < last) ui.list.setAttribute("aria-activedescendant", `option-${active}`);
    else ui.list.removeAttribute("aria-activedescendant");
  }

  function option(place) {
    const [inCases, row, repeat, status, , hits, false_, missed] = index.results[found[place]];
    const [id, , , snippet] = index.cases[inCases];
    const tally = (kind, sign, count, text) => count ? h("span", { class: `t-${kind}` }, h("span", { "aria-hidden": "true" }, `${sign}${count}`), h("span", { class: "unseen" }, `${count} ${text}`)) : null;
    const name = report.statuses[status];
    const node = h("div", { class: "option", role: "option", id: `option-${place}`, "aria-selected": place === active ? "true" : "false",
      "aria-setsize": found.length, "aria-posinset": place + 1, onclick: () => { choose(place); readDetail(); } },
      h("div", { class: "first" }, badge(row), h("span", { class: "id", dir: "auto" }, id), repeats ? h("span", { class: "small" }, `repeat ${repeat + 1}`) : null,
        name === "ok" || name === "empty" ? null : h("span", { class: `small s-${name}` }, word(name)),
        h("span", { class: "tally" }, tally("hit", "\u2713", hits, "hits"), tally("false", "?", false_, "false positives"), tally("missed", "\u00d7", missed, "missed"))),
      h("div", { class: "second", dir: "auto" }, snippet));
    node.style.top = `${place * ROW_HEIGHT}px`;
    return node;
  }

  function choose(place) {
    if (place < 0 || place >= found.length) return;
    active = place;
    const top = place * ROW_HEIGHT;
    if (top < ui.list.scrollTop) ui.list.scrollTop = top;
    else if (top + ROW_HEIGHT > ui.list.scrollTop + ui.list.clientHeight) ui.list.scrollTop = top + ROW_HEIGHT - ui.list.clientHeight;
    paint();
    open(found[place]);
  }

  function open(result) {
    state.open = result;
    ui.detail.replaceChildren(...detail(result));
    highlight();
    remember();
  }

  // Marks the words of the search in the shown case, where a browser can do that without changing the document.
  function highlight() {
    if (!window.Highlight || !CSS.highlights) return;
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean), ranges = [];
    const walker = document.createTreeWalker(ui.detail, NodeFilter.SHOW_TEXT);
    while (words.length && walker.nextNode()) {
      const node = walker.currentNode, text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue; // a letter whose small form is longer: places would be off
      for (const each of words) {
        for (let at = text.indexOf(each); at >= 0; at = text.indexOf(each, at + each.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + each.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  function readDetail() {
    if (matchMedia("(max-width: 800px)").matches) ui.detail.scrollIntoView();
  }

  function listKeys(event) {
    const page = Math.max(1, Math.floor(ui.list.clientHeight / ROW_HEIGHT) - 1);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: found.length - 1, PageDown: active + page, PageUp: active - page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) choose(Math.max(0, Math.min(found.length - 1, moves[event.key])));
    else if (event.key === "Enter") {
      if (active < 0) choose(0);
      ui.detail.focus();
      readDetail();
    } else return;
    event.preventDefault();
  }

  function pageKeys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input:not([type=radio]):not([type=checkbox]):not([type=range]), select, textarea");
    if (event.target === ui.q && (event.key === "Enter" || event.key === "ArrowDown")) {
      ui.list.focus();
      if (active < 0) choose(0);
    } else if (event.target === ui.q && event.key === "Escape" && ui.q.value) {
      ui.q.value = state.q = "";
      refilter();
    } else if (event.key === "Escape" && byId("browser").contains(event.target)) {
      ui.list.focus();
    } else if (typing || !keysOn) return;
    else if (event.key === "/") {
      byId("cases").scrollIntoView();
      ui.q.focus({ preventScroll: true });
    } else if (event.key === "j") choose(Math.min(found.length - 1, active + 1));
    else if (event.key === "k") choose(Math.max(0, active - 1));
    else if (event.key === "c" && state.open >= 0) { state.compare = !state.compare; open(state.open); }
    else return;
    event.preventDefault();
  }

  // ---- Case browser: one case ---------------------------------------------------------------------------------------------------

  function outcome(name) { return h("span", { class: `outcome o-${name.replace("_", "-")}` }, word(name)); }

  function strength(value, text) {
    return h("span", { class: "strength" }, s("svg", { width: 34, height: 6, "aria-hidden": "true" }, s("rect", { width: 34, height: 6, rx: 3 }),
      s("rect", { class: "full", width: Math.max(0, Math.min(34, 34 * value)), height: 6, rx: 3 })), h("span", { class: "unseen" }, "salience "), text);
  }

  function detail(result) {
    const [place, row, repeat] = index.results[result];
    const [id, language, tags, , first, many, length] = index.cases[place];
    const one = detailOf(place), own = one.results[result - first];
    const others = Array.from({ length: many }, (_, offset) => first + offset);
    const shown = state.compare ? others : [result];
    return [
      h("div", { class: "detail-head" }, h("h3", { dir: "auto" }, id),
        h("div", { class: "tools" }, h("button", { type: "button", class: "plain back", onclick: () => { ui.list.scrollIntoView({ block: "center" }); ui.list.focus(); } }, "Back to the list"),
          copyButton("Copy link", () => location.href))),
      caseMeta(one, language, length, tags),
      tabs(others, result),
      h("div", { class: state.compare ? "" : "columns" },
        h("div", {}, messages(one), state.compare ? states(one, shown, first) : gold(one, own), forbidden(one, shown.map((other) => one.results[other - first]))),
        h("div", {}, h("div", { class: state.compare ? "side" : "" }, shown.map((other) => predictions(one.results[other - first], other, state.compare))),
          state.compare ? null : reply(own, index.results[result][3]))),
    ];
  }

  function caseMeta(one, language, length, tags) {
    const parts = [`conversation ${one.conversation}`, one.split, one.date || "no date"];
    if (one.source) parts.push(`source ${one.source}`);
    if (one.owner.length) parts.push(`owner ${one.owner.join(", ")}`);
    const link = (name, value) => h("a", { href: `#${new URLSearchParams([[name, value]])}`, dir: "auto" }, value);
    return h("p", { class: "meta" }, h("bdi", {}, parts.join("; ")), "; language ", link("lang", index.languages[language]), "length ", link("length", index.lengths[length]),
      tags.length ? ["tags ", tags.map((tag) => link("tag", index.tags[tag]))] : null);
  }

  function tabs(others, result) {
    const tab = (other) => {
      const [, row, repeat] = index.results[other];
      return h("button", { type: "button", "aria-pressed": !state.compare && other === result ? "true" : "false", onclick: () => {
        state.compare = false;
        const listed = found.indexOf(other);
        if (listed >= 0) choose(listed); else open(other);
      } }, badge(row), " ", h("span", { dir: "auto", class: "name" }, report.rows[row].label), repeats ? ` repeat ${repeat + 1}` : "");
    };
    const all = others.length > 1 ? h("button", { type: "button", "aria-pressed": String(state.compare), onclick: () => { state.compare = !state.compare; open(result); } }, "All side by side") : null;
    return h("div", { class: "tabs", role: "group", "aria-label": "Rows with this case" }, others.map(tab), all);
  }

  function messages(one) {
    const block = (message, context, place) => h("div", { class: `message ${context ? "context" : ""} ${message[0] === "user" ? "user" : ""}` },
      h("span", { class: "role", dir: "auto" }, message[0], message[2] ? ` (${message[2]})` : "", context ? ", context: no memory is due from it" : ""),
      h("div", { class: "text", dir: "auto" }, context ? message[1] : marked(message[1], one.gold.flatMap((gold) => gold.evidence.filter((piece) => piece[0] === place).map((piece) => piece[1])))));
    return h("section", { class: "block", "aria-label": "Messages" }, h("h4", {}, "Messages"), one.context.map((message) => block(message, true, -1)),
      one.messages.map((message, place) => block(message, false, place)));
  }

  // A text with the pieces marked that gold memories rest on.
  function marked(text, pieces) {
    const spans = pieces.filter(Boolean).map((piece) => [text.indexOf(piece), piece.length]).filter(([start]) => start >= 0)
      .map(([start, length]) => [start, start + length]).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const parts = [];
    let done = 0;
    for (const [start, end] of spans) {
      if (end <= done) continue;
      const from = Math.max(start, done);
      parts.push(text.slice(done, from), h("mark", {}, text.slice(from, end)));
      done = end;
    }
    return [...parts, text.slice(done)];
  }

  function stateOf(gold, own) {
    if (gold.id in own.matched) {
      const kind = own.predictions[own.matched[gold.id]].outcome;
      return kind === "hit" ? ["hit", "found"] : [kind, `found, ${word(kind)}`];
    }
    if (own.missed.includes(gold.id)) return ["missed", gold.id in own.parted ? `missed (${own.parted[gold.id]})` : "missed"];
    return ["optional", "not returned, not required"];
  }

  function stateChip([kind, text]) { return h("span", { class: `outcome o-${kind.replace("_", "-")}` }, text); }

  function goldText(gold) {
    return [h("div", { class: "text", dir: "auto" }, gold.text), h("div", { class: "small" }, gold.about.join(", ")),
      gold.also.length ? h("details", { class: "small also" }, h("summary", {}, `${gold.also.length} paraphrase${gold.also.length > 1 ? "s" : ""}`), gold.also.map((phrase) => h("div", { class: "text", dir: "auto" }, phrase))) : null];
  }

  function gold(one, own) {
    const entry = (memory) => h("li", { "data-pair": memory.id, onmouseenter: pair, onmouseleave: unpair }, h("div", { class: "line" }, stateChip(stateOf(memory, own)),
      h("bdi", { class: "tag-id" }, memory.id), strength(memory.value, memory.salience)), goldText(memory));
    return h("section", { class: "block", "aria-label": "Gold memories" }, h("h4", {}, "Gold memories"),
      one.gold.length ? h("ul", { class: "entries" }, one.gold.map(entry)) : h("p", { class: "small" }, "None: the right answer is an empty list."));
  }

  // Gold memories against rows.
  function states(one, shown, first) {
    if (!one.gold.length) return h("section", { class: "block" }, h("h4", {}, "Gold memories"), h("p", { class: "small" }, "None: the right answer is an empty list."));
    const head = shown.map((other) => h("th", { scope: "col" }, badge(index.results[other][1]), repeats ? ` repeat ${index.results[other][2] + 1}` : ""));
    return h("div", { class: "scroll states", tabindex: 0, role: "region", "aria-label": "Gold memories in every row" }, h("table", {}, h("caption", {}, "Gold memories in every row"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "memory"), head)),
      h("tbody", {}, one.gold.map((memory) => h("tr", {}, h("th", { scope: "row" }, h("div", { class: "line" }, h("bdi", { class: "tag-id" }, memory.id), " ", strength(memory.value, memory.salience)), h("div", { class: "text", dir: "auto" }, memory.text)),
        shown.map((other) => { const [kind, text] = stateOf(memory, one.results[other - first]); return h("td", {}, stateChip([kind, text.replace("not returned, not required", "not returned")])); }))))));
  }

  function forbidden(one, owns) {
    if (!one.forbidden.length) return null;
    const returned = new Set(owns.flatMap((own) => own.predictions.filter((entry) => entry.outcome === "violation").map((entry) => entry.label)));
    return h("section", { class: "block", "aria-label": "Must not be stored" }, h("h4", {}, "Must not be stored"), h("ul", { class: "entries" },
      one.forbidden.map((item, place) => h("li", { "data-pair": `forbidden[${place}]`, onmouseenter: pair, onmouseleave: unpair },
        h("div", { class: "line" }, returned.has(`forbidden[${place}]`) ? stateChip(["violation", "returned"]) : stateChip(["hit", "not returned"]),
          h("span", { class: "tag-id" }, `forbidden[${place}]`), h("span", { class: "small" }, item.reason)),
        h("div", { class: "text", dir: "auto" }, item.text),
        item.contains ? h("div", { class: "small" }, "also wherever this appears: ", h("code", { dir: "auto" }, item.contains)) : null))));
  }

  // Which label a prediction was paired with, or which one is nearest where it was paired with none.
  function labelOf(one) {
    if (!one.label) return null;
    return h("span", { class: "small" }, NEAREST.includes(one.outcome) ? "nearest: " : "paired with ", h("bdi", { class: "tag-id" }, one.label));
  }

  function predictions(own, result, named) {
    const [, row, repeat, status] = index.results[result];
    const title = named ? [badge(row), " ", h("bdi", {}, report.rows[row].label), repeats ? ` repeat ${repeat + 1}` : "", `, reply ${word(report.statuses[status])}`] : "Predictions, by salience";
    const entry = (one) => h("li", { "data-pair": NEAREST.includes(one.outcome) ? null : one.label, onmouseenter: pair, onmouseleave: unpair },
      h("div", { class: "line" }, outcome(one.outcome), labelOf(one), strength(one.value, one.salience),
        one.observed ? h("bdi", { class: "small" }, one.observed) : null, one.counted ? null : h("span", { class: "small" }, "counts nowhere")),
      h("div", { class: "text", dir: "auto" }, one.text),
      h("div", { class: "small" }, h("bdi", {}, one.reason), one.score && !one.reason.includes(one.score) ? `; similarity ${one.score}` : ""));
    return h("section", { class: "block", "aria-label": "Predictions" }, h("h4", {}, title),
      own.predictions.length ? h("ol", { class: "entries" }, own.predictions.map(entry)) : h("p", { class: "small" }, "Nothing was returned."),
      named ? h("details", { class: "small" }, h("summary", {}, "Raw reply"), h("pre", { class: "reply", dir: "auto" }, own.reply === null ? "There is none." : own.reply)) : null);
  }

  function reply(own, status) {
    const name = report.statuses[status];
    return h("section", { class: "block", "aria-label": "Raw reply" }, h("h4", {}, "Raw reply, read as ", h("span", { class: `s-${name}` }, word(name))),
      own.reply === null ? h("p", { class: "small" }, "There is none: the input is beyond the model's context.")
        : h("pre", { class: "reply", dir: "auto", tabindex: 0 }, own.reply || "(empty text)"));
  }

  function pair(event) {
    const id = event.currentTarget.dataset.pair;
    if (!id) return;
    ui.detail.querySelectorAll("li[data-pair]").forEach((one) => one.classList.toggle("paired", one.dataset.pair === id));
  }
  function unpair() { ui.detail.querySelectorAll(".paired").forEach((one) => one.classList.remove("paired")); }

  // ---- Address ------------------------------------------------------------------------------------------------------------------
  // #case=ID&row=N opens one result (rows count from 1), with compare=1 all rows of it; q, only, outcome, tag, lang, length and status filter.

  function remember() {
    if (quiet) return;
    const parts = new URLSearchParams();
    FILTERS.forEach((name) => { if (state[name] !== "") parts.set(name, state[name]); });
    if (state.open >= 0) {
      const [place, row, repeat] = index.results[state.open];
      parts.set("case", index.cases[place][0]);
      parts.set("row", String(row + 1));
      if (repeat) parts.set("repeat", String(repeat + 1));
      if (state.compare) parts.set("compare", "1");
    }
    const text = parts.toString();
    try { history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search); } catch { /* a viewer that forbids it */ }
  }

  function restore() {
    const hash = location.hash.slice(1);
    const given = new URLSearchParams(hash.includes("=") ? hash : "");
    if (!ui.q) return;
    if (!hash.includes("=")) { if (!found.length) refilter(); return; }
    FILTERS.forEach((name) => {
      state[name] = given.get(name) || "";
      if (!ui[name]) return;
      ui[name].value = state[name];
    });
    state.compare = given.get("compare") === "1";
    state.open = wanted(given);
    refilter();
    if (state.open >= 0) open(state.open);
    else if (given.has("case")) ui.detail.replaceChildren(h("p", { class: "nothing" }, "This report has no case ", h("bdi", {}, given.get("case")), " in that row."));
    else if (found.length) choose(0);
    byId("cases").scrollIntoView({ behavior: "instant" });
  }

  function wanted(given) {
    if (!given.has("case")) return -1;
    const id = given.get("case"), row = given.has("row") ? Number(given.get("row")) - 1 : -1, repeat = Number(given.get("repeat") || 1) - 1;
    return index.results.findIndex((result) => index.cases[result[0]][0] === id && (row < 0 || result[1] === row) && result[2] === repeat);
  }

  // ---- Start --------------------------------------------------------------------------------------------------------------------

  document.querySelectorAll("table").forEach(makeSortable);
  addCopyButtons();
  enhanceSlices();
  for (const area of document.querySelectorAll("[data-chart]")) (area.dataset.chart === "reliability" ? drawReliability : drawThreshold)(area);
  mountBrowser();
  restore();
  if (ui.q && !location.hash.includes("=") && found.length) choose(0);
  quiet = false;
  window.addEventListener("hashchange", restore);
  later(fillHay);
})();
