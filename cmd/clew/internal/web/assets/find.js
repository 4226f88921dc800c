// @ts-check
// Find in a session. The server looks through all rows; the matches in view are marked without a
// change of the document.

import { get } from "./api.js";
import { button, complain, h, later, number, soon } from "./dom.js";

const registry = /** @type {any} */ (CSS).highlights;
const maxMarks = 500;

export class Finder {
  /** @param {import("./session.js").SessionPage} page */
  constructor(page) {
    this.page = page;
    this.query = "";
    this.at = -1;
    /** @type {{row: string, path: string[], index: number, n: number}[]} */
    this.matches = [];
    this.count = 0;
    this.visits = 0;
    /** What was asked last. @type {{q: string, regex: boolean, case: boolean} | null} */
    this.request = null;
    this.input = h("input", { type: "search", placeholder: "Find; between slashes, a regular expression", "aria-label": "Find in the session", maxLength: 1000, spellcheck: false });
    this.regex = h("input", { type: "checkbox" });
    this.case = h("input", { type: "checkbox" });
    this.status = h("span.count", { role: "status" });
    this.soon = later(200, () => { if (this.input.value !== this.query) this.run(this.input.value); });
    this.input.addEventListener("input", this.soon);
    this.input.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.press(e));
    for (const box of [this.regex, this.case]) box.addEventListener("change", () => this.run(this.input.value));
    page.findBar.replaceChildren(this.input,
      h("label", {}, this.regex, " regex"), h("label", {}, this.case, " case"), this.status,
      button("↑", () => this.next(-1), { "aria-label": "Previous match", title: "Previous match (N)" }),
      button("↓", () => this.next(1), { "aria-label": "Next match", title: "Next match (n)" }),
      button("Close", () => this.close(), { className: "quiet" }));
    this.paintSoon = soon(80, () => this.paint());
    addEventListener("scroll", this.paintSoon, { passive: true });
  }

  open() {
    this.page.findBar.hidden = false;
    this.input.focus();
    this.input.select();
  }

  close() {
    this.visits++; // matches that come later lead nowhere
    this.page.findBar.hidden = true;
    this.query = this.input.value = this.status.textContent = "";
    this.matches = [];
    this.at = -1;
    registry?.delete("find");
    registry?.delete("found");
    if (this.page.closed) removeEventListener("scroll", this.paintSoon);
    else this.page.select(this.page.current());
  }

  /** @param {KeyboardEvent} e */
  press(e) {
    if (e.key === "Escape") this.close();
    else if (e.key !== "Enter") return;
    else if (this.input.value !== this.query) this.run(this.input.value);
    else if (this.matches.length) this.next(e.shiftKey ? -1 : 1, false);
    e.preventDefault();
    e.stopPropagation();
  }

  /**
   * Looks for a text, and goes to the first match after the selected row.
   * @param {string} text
   */
  async run(text) {
    const visit = ++this.visits;
    this.query = this.input.value = text;
    this.page.findBar.hidden = false;
    this.matches = [];
    this.at = -1;
    if (!text) {
      this.status.textContent = "";
      this.paint();
      return;
    }
    const slashed = /^\/(.+)\/$/.exec(text);
    const regex = this.regex.checked || !!slashed;
    this.request = { q: slashed?.[1] ?? text, regex, case: this.case.checked };
    this.expression = expression(this.request.q, regex, this.case.checked);
    try {
      const found = await get(`${this.page.api}/find`, this.request);
      if (visit !== this.visits) return;
      this.take(found);
      if (this.matches.length) await this.next(1, false);
    } catch (error) {
      if (visit !== this.visits) return;
      this.request = null;
      this.status.textContent = /** @type {Error} */ (error).message;
    }
    this.paint();
  }

  /** @param {any} found */
  take(found) {
    this.matches = found.matches ?? [];
    this.count = found.count;
    this.more = found.more;
    this.showStatus();
  }

  showStatus() {
    const n = this.matches.length;
    const rows = `${number(this.at + 1)} of ${number(n)}${this.more ? "+" : ""}`;
    this.status.textContent = !n ? "no match" : this.count > n ? `${rows} rows, ${number(this.count)} matches` : rows;
  }

  /** Looks again after the session has changed. The place stays. */
  again = soon(500, async () => {
    const visit = this.visits;
    if (!this.query || !this.request) return;
    try {
      const found = await get(`${this.page.api}/find`, this.request);
      if (visit !== this.visits || !this.query) return;
      const row = this.matches[this.at]?.row;
      this.at = row ? found.matches.findIndex((/** @type {any} */ m) => m.row === row) : -1;
      this.take(found);
      this.paint();
    } catch (error) {
      complain(error);
    }
  });

  /**
   * Goes to the next match in a direction.
   * @param {number} direction
   * @param {boolean} [focus] whether the row gets the focus
   */
  async next(direction, focus = true) {
    const { matches } = this;
    if (!matches.length) return;
    if (this.at < 0) this.at = this.nearest(direction);
    else this.at = (this.at + direction + matches.length) % matches.length;
    const match = matches[this.at];
    const before = document.activeElement;
    this.showStatus();
    try {
      const row = await this.page.goTo(match.row, { open: true });
      if (!focus && before instanceof HTMLElement) before.focus({ preventScroll: true });
      this.paint(row?.element);
    } catch (error) {
      complain(error);
    }
  }

  /** @param {number} direction */
  nearest(direction) {
    const selected = this.page.current();
    let root = selected;
    while (root && this.page.parentOf(root)) root = this.page.parentOf(root);
    const index = root?.index ?? 0;
    if (direction < 0) return Math.max(0, this.matches.findLastIndex((m) => m.index <= index));
    return Math.max(0, this.matches.findIndex((m) => m.index >= index));
  }

  /**
   * Marks the matches in view.
   * @param {Element} [current] the row of the match
   */
  paint(current) {
    if (!registry) return;
    this.current = current ?? this.current;
    registry.delete("find");
    registry.delete("found");
    if (!this.query || !this.expression) return;
    /** @type {Range[]} */
    const all = [];
    /** @type {Range[]} */
    const here = [];
    for (const row of this.page.list.element.querySelectorAll("article.row")) {
      const box = row.getBoundingClientRect();
      if (box.bottom < 0) continue;
      if (box.top > innerHeight || all.length > maxMarks) break;
      for (const range of ranges(row, this.expression)) (row === this.current ? here : all).push(range);
    }
    const Highlight = /** @type {any} */ (globalThis).Highlight;
    registry.set("find", new Highlight(...all));
    registry.set("found", new Highlight(...here));
    if (current && here.length) this.page.place.revealRange(here[0], current);
  }
}

/**
 * @param {string} text
 * @param {boolean} regex
 * @param {boolean} exact
 */
function expression(text, regex, exact) {
  try {
    return new RegExp(regex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), exact ? "gu" : "giu");
  } catch {
    return null; // Go knows expressions that a browser does not: they are found, and not marked
  }
}

/**
 * The places of an expression in the texts of a row, without those of the rows below.
 * @param {Element} row
 * @param {RegExp} expression
 */
function* ranges(row, expression) {
  for (const part of row.querySelectorAll(":scope > .line > .head, :scope > .part:not([hidden])")) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement?.checkVisibility()) continue; // the beginning of a row that is open
      for (const match of (node.nodeValue ?? "").slice(0, 100000).matchAll(expression)) {
        if (!match[0]) break;
        const range = new Range();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        yield range;
      }
    }
  }
}
