// SPDX-License-Identifier: Apache-2.0
// What the page can do with the data in it.  All text goes in as textContent.

"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const FLAG = {merged: 1, cut: 2, resumed: 4, task: 8};
const SHOWN = 200;

const at = (id) => document.getElementById(id);
function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

/* Functions: name, place, calls, resumes, self and total as numbers and as texts, whether some are cut, what the last call was told of values,
   and whether it is of other code than the project's. */
const [NAME, PLACE, CALLS, RESUMES, SELF, TOTAL, SELF_TEXT, TOTAL_TEXT, IS_CUT, VALUES, IS_OTHER] = Array(11).keys();
const functions = report.functions || [];
const name_of = (i) => i >= 0 ? functions[i][NAME] : "";

/* A click on the head of a column sorts by it: by numbers, where cells have them, or by text. */
function make_sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", head.textContent), sign = make("span");
    button.type = "button";
    button.append(sign);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const is_falling = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "descending" : column > 0;
      for (const other of heads) {
        other.removeAttribute("aria-sort");
        other.querySelector("span").textContent = "";
      }
      head.setAttribute("aria-sort", is_falling ? "descending" : "ascending");
      sign.textContent = is_falling ? " ▼" : " ▲";
      const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => (is_falling ? -1 : 1) * String(key(a)).localeCompare(String(key(b)), "en", {numeric: true}));
      table.tBodies[0].append(...rows);
    });
  });
}
for (const table of document.querySelectorAll("table.sorted")) make_sortable(table);

const whole = functions.reduce((sum, of) => sum + (of[SELF] || 0), 0);
/* A time, how much of the whole that is, and a bar as long. */
function share(ns, text) {
  const cell = make("td", undefined, "share"), part = whole > 0 ? Math.min(ns / whole, 1) * 100 : 0;
  cell.append(make("span", part >= 0.1 ? `${part.toFixed(1)} %` : "", "percent"), text);
  cell.style.setProperty("--part", `${part.toFixed(2)}%`);
  cell.dataset.v = ns;
  return cell;
}

class Table {
  constructor() {
    this.key = SELF;
    this.is_falling = true;
    this.shown = SHOWN;
    this.body = at("functions").tBodies[0];
    for (const button of at("functions").querySelectorAll("th button"))
      button.addEventListener("click", () => this.sort(Number(button.dataset.key)));
    at("search").addEventListener("input", () => { this.shown = SHOWN; this.draw(); });
    if (at("others")) at("others").addEventListener("change", () => { this.shown = SHOWN; this.draw(); });
    at("more").addEventListener("click", () => { this.shown *= 4; this.draw(); });
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) this.select(Number(row.dataset.i));
    });
    this.selected = -1;
    this.draw();
  }

  sort(key) {
    this.is_falling = key === this.key ? !this.is_falling : key !== NAME;
    this.key = key;
    this.draw();
  }

  draw() {
    const wanted = at("search").value.toLowerCase();
    // A search is one in all code.
    const folds = at("others") ? !at("others").checked && !wanted : report.is_filtered;
    const has = (i) => !(folds && functions[i][IS_OTHER]) && `${functions[i][NAME]} ${functions[i][PLACE]}`.toLowerCase().includes(wanted);
    const found = functions.map((_, i) => i).filter(has);
    const sign = this.is_falling ? -1 : 1;
    found.sort((a, b) => {
      const left = functions[a][this.key], right = functions[b][this.key];
      return left < right ? -sign : left > right ? sign : a - b;
    });
    this.body.replaceChildren(...found.slice(0, this.shown).map((i) => this.row(i)));
    for (const button of at("functions").querySelectorAll("th button")) {
      const is_key = Number(button.dataset.key) === this.key;
      button.closest("th").setAttribute("aria-sort", is_key ? this.is_falling ? "descending" : "ascending" : "none");
      button.querySelector("span").textContent = is_key ? this.is_falling ? " ▼" : " ▲" : "";
    }
    at("more").hidden = found.length <= this.shown;
    at("found").textContent = `${Math.min(found.length, this.shown)} of ${functions.length} functions`;
  }

  row(i) {
    const row = make("tr"), of = functions[i], first = make("td"), button = make("button", of[NAME]);
    row.dataset.i = i;
    row.setAttribute("aria-selected", String(i === this.selected));
    first.append(button, make("span", of[PLACE], "place"));
    row.append(first, make("td", `${of[CALLS]}${of[IS_CUT] ? " *" : ""}`), share(of[SELF], of[SELF_TEXT]),
      share(of[TOTAL], of[TOTAL_TEXT]));
    return row;
  }

  select(i) {
    if (i < 0) return;
    this.selected = i;
    for (const row of this.body.rows) row.setAttribute("aria-selected", String(Number(row.dataset.i) === i));
    const of = functions[i], panel = at("selected");
    const goings = of[RESUMES] ? `, went on ${of[RESUMES]} times` : "";
    panel.replaceChildren(
      make("h3", of[NAME]), make("p", of[PLACE]),
      make("p", `${of[CALLS]} calls${goings}; ${of[SELF_TEXT]} itself, ${of[TOTAL_TEXT]} with all that it called` +
        (of[IS_CUT] ? "; * some of the calls were not seen to begin or to end" : "")),
      ...of[VALUES] ? [make("p", `last: ${of[VALUES]}`)] : [],
      this.edges("Called by", report.edges.filter((edge) => edge[1] === i), 0),
      this.edges("It called", report.edges.filter((edge) => edge[0] === i), 1));
    panel.hidden = false;
    panel.scrollIntoView({block: "nearest"});
  }

  edges(title, edges, side) {
    const part = make("div", undefined, "wide"), table = make("table", undefined, "numbers"), head = make("tr");
    part.append(make("h3", title));
    if (!edges.length) {
      part.append(make("p", side ? "nothing that is in this page" : "nobody: it is the outermost"));
      return part;
    }
    for (const column of ["Function", "Calls", "Time"]) head.append(make("th", column));
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    for (const edge of edges) {
      const row = make("tr"), first = make("td"), button = make("button", name_of(edge[side]));
      button.addEventListener("click", () => this.select(edge[side]));
      first.append(button, make("span", functions[edge[side]][PLACE], "place"));
      row.append(first, make("td", String(edge[2])), make("td", edge[3]));
      row.cells[2].dataset.v = edge[4];
      table.tBodies[0].append(row);
    }
    make_sortable(table);
    part.append(table);
    return part;
  }
}

/* In the unit that suits what is shown, with the digits that the step needs. */
function duration(ns, step) {
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]].find(([, size]) => step >= size / 10) || ["ns", 1];
  return `${(ns / size).toFixed(step >= size ? 0 : 1)} ${unit}`;
}

const table = at("functions") ? new Table() : null;
const choose = (chart) => (i) => { if (table) table.select(chart.function[i]); };
const looks = (chart) => (i) => {
  const flags = chart.flags[i];
  return `${flags & FLAG.merged ? "merged" : ""} ${flags & FLAG.cut ? "cut" : ""} ${flags & FLAG.task ? "task" : ""}`;
};
// Where a time is not more than the bound of its error, its width says little.
const sign_of = (chart, i) => chart.time[i].startsWith("<") ? "≲ " : "";
// One fill for all functions of a file; it says nothing that the text does not.
function fills(chart) {
  chart.fill = chart.function.map((i) => i < 0 ? 2 : functions[i][PLACE].replace(/:\d+$/, "").split("")
    .reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 0));
  return chart;
}

if (report.flame) {
  const chart = fills(report.flame);
  const label = (i) => chart.function[i] === -1 ? chart.more[i] : chart.function[i] === -2 ? "…" :
    name_of(chart.function[i]);
  const describe = (i) => {
    if (chart.function[i] === -1) return `${chart.more[i]}: ${chart.time[i]} in calls`;
    if (chart.function[i] === -2)
      return `functions that took less than those in the chart, ${chart.calls[i]} calls: ${chart.time[i]}`;
    return `${name_of(chart.function[i])}, ${functions[chart.function[i]][PLACE]}: ` +
      `${chart.time[i]} with all that it called, ${chart.more[i]} itself, ` +
      `${chart.calls[i]} calls${chart.flags[i] & FLAG.cut ? ", some not seen to begin or to end" : ""}`;
  };
  chart.tick = (ns, step) => duration(ns, step);
  window.flame = new Boxes(at("flame"), chart, {label, describe, looks: looks(chart), chosen: choose(chart)});
}

if (report.timeline) {
  const chart = fills(report.timeline);
  const seconds = (ns, digits) => `${(ns / 1e9).toFixed(digits)} s`;
  chart.axis = (from, to) => {
    const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10((to - from) / 1e9)) + 2));
    return `${seconds(from, digits)} to ${seconds(to, digits)} since the run began`;
  };
  chart.tick = (ns, step) => duration(ns, step);
  const counted = (i) => `${chart.calls[i]} ${chart.flags[i] & FLAG.task ? "times" : "calls"}`;
  const label = (i) => sign_of(chart, i) + (chart.calls[i] > 1 ? counted(i) : name_of(chart.function[i]));
  const describe = (i) => {
    const place = functions[chart.function[i]][PLACE];
    if (chart.flags[i] & FLAG.task)
      return `the task ran${chart.calls[i] > 1 ? ` ${counted(i)}, drawn as one with the pauses between` : ""}: ` +
        `${name_of(chart.function[i])}, ${place}: ${chart.time[i]}${chart.flags[i] & FLAG.cut ? ", not seen to begin or to end" : ""}`;
    if (chart.calls[i] > 1)
      return `${chart.calls[i]} calls drawn as one, ${chart.time[i]} together: ${name_of(chart.function[i])}, ` +
        `${place}, and perhaps others`;
    return `${name_of(chart.function[i])}, ${place}: ${chart.time[i]}${chart.flags[i] & FLAG.resumed ? ", goes on" : ""}` +
      `${chart.flags[i] & FLAG.cut ? ", not seen to begin or to end" : ""}`;
  };
  window.timeline = new Boxes(at("timeline"), chart, {label, describe, looks: looks(chart), chosen: choose(chart)});
}
