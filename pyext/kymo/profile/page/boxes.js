// SPDX-License-Identifier: Apache-2.0
// Calls as nested boxes over an axis: time, or time added up.  What is narrower than a few pixels is drawn together, so that
// there are never more elements than a screen has room for.

"use strict";

const ROW = 20, NARROW = 3, FILLS = 6;

/*
 * chart: begin, end, row: a number for each box, by row and begin; boxes of a row do not overlap.  rows: of each row its title,
 * or null.  notes: [at, row, text] of what has no length.  functions: of each box.
 * label(i), describe(i): texts.  chosen(i): it was chosen.
 */
class Boxes {
  constructor(place, chart, {label, describe, chosen, looks}) {
    Object.assign(this, {place, chart, label, describe, chosen, looks});
    this.first = [];
    for (let i = chart.row.length; i-- > 0;) this.first[chart.row[i]] = i;
    this.ends = [];
    chart.row.forEach((row, i) => { this.ends[row] = i + 1; });
    this.low = chart.low;
    this.high = Math.max(chart.high, chart.low + 1);
    this.from = this.low;
    this.to = this.high;
    this.current = -1;
    this.area = place.querySelector(".boxes");
    this.inner = document.createElement("div");
    this.inner.className = "inner";
    this.inner.style.height = `${chart.rows.length * ROW}px`;
    this.area.append(this.inner);
    this.told = place.querySelector(".told");
    this.ticks = place.querySelector(".ticks");
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("scroll", () => this.draw());
    this.area.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    this.inner.addEventListener("click", (event) => this.click(event));
    this.inner.addEventListener("pointermove", (event) => this.hover(event));
    this.listen_to_drags();
    for (const button of place.querySelectorAll("button[data-do]"))
      button.addEventListener("click", () => this.act(button.dataset.do));
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.draw();
  }

  show(from, to) {
    const least = Math.max(1, (this.high - this.low) / 1e9);
    const length = Math.min(Math.max(to - from, least), this.high - this.low);
    this.from = Math.min(Math.max(from, this.low), this.high - length);
    this.to = this.from + length;
    this.draw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  act(what) {
    const length = this.to - this.from;
    if (what === "in") this.zoom(0.5);
    else if (what === "out") this.zoom(2);
    else if (what === "left") this.show(this.from - length / 4, this.to - length / 4);
    else if (what === "right") this.show(this.from + length / 4, this.to + length / 4);
    else this.show(this.low, this.high);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const at = (event.clientX - this.inner.getBoundingClientRect().left) / this.inner.clientWidth;
    this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, this.from + at * (this.to - this.from));
  }

  listen_to_drags() {
    let start = null;
    this.inner.addEventListener("pointerdown", (event) => {
      start = {x: event.clientX, from: this.from, to: this.to};
      this.was_dragged = false;
    });
    addEventListener("pointermove", (event) => {
      if (!start) return;
      const moved = event.clientX - start.x;
      if (Math.abs(moved) > 4) this.was_dragged = true;
      const by = moved / this.inner.clientWidth * (start.to - start.from);
      if (this.was_dragged) this.show(start.from - by, start.to - by);
    });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { start = null; });
  }

  key(event) {
    const of = {"+": "in", "=": "in", "-": "out", "0": "all", "Escape": "all"}[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (of) this.act(of);
    else if (event.key.startsWith("Arrow")) this.step(event.key);
    else if (event.key === "Enter" && this.current >= 0) this.choose(this.current);
    else return;
    event.preventDefault();
  }

  // The box of `row` that lasts at `at`, or begins next; -1: none.
  find(row, at) {
    if (this.first[row] === undefined) return -1;
    let low = this.first[row], high = this.ends[row];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.chart.end[middle] <= at) low = middle + 1; else high = middle;
    }
    return low < this.ends[row] ? low : -1;
  }

  step(key) {
    const {begin, end, row} = this.chart;
    let next = this.current;
    if (next < 0) next = this.find(row[0], this.from);
    else if (key === "ArrowLeft" && row[next - 1] === row[next]) next--;
    else if (key === "ArrowRight" && row[next + 1] === row[next]) next++;
    else if (key === "ArrowUp" || key === "ArrowDown") {
      // Threads have their rows one below the other.
      for (let to = row[next] + (key === "ArrowUp" ? -1 : 1); to >= 0 && to < this.chart.rows.length;
        to += key === "ArrowUp" ? -1 : 1) {
        const found = this.find(to, begin[next]);
        if (found < 0) continue;
        next = found;
        break;
      }
    }
    if (next < 0) return;
    this.current = next;
    if (end[next] <= this.from || begin[next] >= this.to) {
      const length = this.to - this.from;
      this.from = Math.min(Math.max(begin[next] - length / 4, this.low), this.high - length);
      this.to = this.from + length;
    }
    const top = row[next] * ROW;
    if (top < this.area.scrollTop || top + ROW > this.area.scrollTop + this.area.clientHeight)
      this.area.scrollTop = top - ROW;
    this.tell(next);
    this.draw();
  }

  choose(i) {
    this.current = i;
    this.tell(i);
    this.show(this.chart.begin[i], this.chart.end[i]);
    if (this.chosen) this.chosen(i);
  }

  click(event) {
    const box = event.target.closest(".box");
    if (!box || this.was_dragged) return;
    if (box.dataset.from === undefined) this.choose(Number(box.dataset.i));
    else this.show(Number(box.dataset.from), Number(box.dataset.to));
  }

  hover(event) {
    const box = event.target.closest(".box");
    if (!box) return;
    if (box.dataset.from === undefined) this.tell(Number(box.dataset.i));
    else this.told.textContent = box.title;
  }

  tell(i) { this.told.textContent = this.describe(i); }

  // Boxes of `row` that are to be seen: [left, width, number] or, drawn together, [left, width, -1, count, from, to].
  seen(row, scale) {
    const {begin, end} = this.chart, seen = [];
    const first = this.find(row, this.from);
    let together = null;
    for (let i = first; i >= 0 && i < this.ends[row] && begin[i] < this.to; i++) {
      const left = (Math.max(begin[i], this.from) - this.from) * scale;
      const right = (Math.min(end[i], this.to) - this.from) * scale;
      if (right - left >= NARROW || i === this.current) {
        together = null;
        seen.push([left, Math.max(right - left, NARROW), i]);
        continue;
      }
      if (together && right - together[0] <= 4 * NARROW) {
        together[1] = Math.max(right - together[0], NARROW);
        together[2] = -1;
        together[3]++;
        together[5] = end[i];
        continue;
      }
      together = [left, NARROW, i, 1, begin[i], end[i]];
      seen.push(together);
    }
    return seen;
  }

  box(i, left, width, top) {
    const element = document.createElement("div");
    element.className = `box fill-${this.chart.fill[i] % FILLS} ${this.looks ? this.looks(i) : ""}`;
    if (i === this.current) element.classList.add("current");
    element.dataset.i = i;
    element.style.cssText = `left:${left}px;width:${Math.max(width - 1, 1)}px;top:${top}px`;
    if (width > 12) element.textContent = this.label(i);
    return element;
  }

  // Round places on the axis, some six of them.
  draw_ticks() {
    const length = this.to - this.from, least = length / 7, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least);
    const spans = [];
    for (let at = Math.ceil(this.from / step) * step; at < this.to; at += step) {
      const span = document.createElement("span");
      span.textContent = this.chart.tick(at, step);
      span.style.left = `${(at - this.from) / length * 100}%`;
      spans.push(span);
    }
    this.ticks.replaceChildren(...spans);
  }

  draw() {
    this.draw_ticks();
    const width = this.inner.clientWidth, scale = width / (this.to - this.from), made = [];
    const first = Math.max(0, Math.floor(this.area.scrollTop / ROW) - 1);
    const last = Math.min(this.chart.rows.length, first + Math.ceil(this.area.clientHeight / ROW) + 2);
    for (let row = first; row < last; row++) {
      const title = this.chart.rows[row];
      if (title !== null) {
        const element = document.createElement("div");
        element.className = "row-title";
        element.style.top = `${row * ROW}px`;
        element.textContent = title;
        made.push(element);
        continue;
      }
      for (const [left, wide, i, count, from, to] of this.seen(row, scale)) {
        if (i >= 0) {
          made.push(this.box(i, left, wide, row * ROW));
          continue;
        }
        const element = document.createElement("div");
        element.className = "box together";
        element.dataset.from = from;
        element.dataset.to = to;
        element.title = `${count} boxes, too narrow to be drawn one by one: choose to zoom in`;
        element.style.cssText = `left:${left}px;width:${wide}px;top:${row * ROW}px`;
        made.push(element);
      }
    }
    for (const [at, row, text] of this.chart.notes) {
      if (row < first || row >= last || at < this.from || at > this.to) continue;
      const element = document.createElement("div");
      element.className = "note";
      element.title = text;
      element.textContent = text;
      element.style.cssText = `left:${(at - this.from) * scale}px;top:${row * ROW}px`;
      made.push(element);
    }
    this.inner.replaceChildren(...made);
    if (this.chart.axis) this.place.querySelector(".axis").textContent = this.chart.axis(this.from, this.to);
  }
}
