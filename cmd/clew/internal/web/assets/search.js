// @ts-check
// The search over all sessions.

import { get } from "./api.js";
import { button, complain, fragment, h, later } from "./dom.js";

const pageSize = 50;

/** @param {import("./app.js").Context} context */
export function show(context) { return new SearchPage(context); }

class SearchPage {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.context = context;
    this.scope = "search";
    this.query = "";
    this.from = 0;
    this.visits = 0;
    this.input = h("input", { type: "search", placeholder: "Search the text of all sessions", "aria-label": "Search the text of all sessions", maxLength: 1000, spellcheck: false });
    this.input.addEventListener("input", later(200, () => this.keep()));
    this.input.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "ArrowDown" || e.key === "Escape") this.move(0);
      else if (e.key === "Enter") this.keep();
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
    this.note = h("p.note", { role: "status" });
    this.results = h("div.results");
    this.more = button("More", () => this.load(true), { hidden: true, className: "more" });
    context.main.replaceChildren(h("div.sheet", {}, h("h1.sr", {}, "Search"),
      h("div.sticky.controls", {}, this.input), this.note, this.results, this.more));
    document.body.className = "search-page";
    context.setTitle("Search");
    this.changed();
    this.input.focus();
  }

  /** Takes what the URL says. */
  changed() {
    const q = new URLSearchParams(location.search).get("q") ?? "";
    if (this.input.value !== q) this.input.value = q;
    if (q === this.query) return;
    this.query = q;
    this.load();
  }

  keep() {
    const q = this.input.value;
    if (q === this.query) return;
    this.context.go(q ? `/search?q=${encodeURIComponent(q)}` : "/search", true);
    this.changed();
  }

  /** @param {boolean} [more] */
  async load(more = false) {
    const visit = ++this.visits;
    if (!more) this.from = 0;
    if (!this.query.trim()) {
      this.results.replaceChildren();
      this.note.textContent = "";
      this.more.hidden = true;
      return;
    }
    try {
      if (!this.results.hasChildNodes()) this.note.textContent = "Searching…";
      const answer = await get("search", { q: this.query, from: this.from, n: pageSize });
      if (visit !== this.visits) return;
      if (!more) this.results.replaceChildren();
      this.results.append(fragment(answer.html));
      this.from += pageSize;
      this.more.hidden = this.from >= answer.total;
      this.note.textContent = this.noteOf(answer);
      if (answer.indexing !== undefined && !more) setTimeout(() => { if (visit === this.visits) this.load(); }, 700);
    } catch (error) {
      if (visit !== this.visits) return;
      this.note.textContent = /** @type {Error} */ (error).message;
      complain(error);
    }
  }

  /** @param {{note: string, total: number, indexing?: number}} answer */
  noteOf(answer) {
    if (answer.indexing !== undefined)
      return `${answer.total ? "These are the results so far." : "Nothing was found so far."} Reading sessions: ${answer.indexing} %.`;
    return answer.note || (answer.total ? "" : "Nothing was found.");
  }

  /** @param {number} by */
  move(by) {
    const links = [...this.results.querySelectorAll("a[href^='/s/']")];
    const at = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))];
    next?.focus();
  }

  /** @param {string} action */
  act(action) {
    const run = this.actions[action];
    run?.();
    return !!run;
  }

  /** @type {Record<string, () => void>} */
  actions = {
    down: () => this.move(1),
    up: () => this.move(-1),
    "half-down": () => this.move(5),
    "half-up": () => this.move(-5),
    "page-down": () => this.move(10),
    "page-up": () => this.move(-10),
    top: () => this.move(-Infinity),
    bottom: () => this.move(Infinity),
    find: () => { this.input.focus(); this.input.select(); },
    open: () => { const e = document.activeElement; if (e instanceof HTMLAnchorElement) e.click(); },
  };

  close() { this.visits++; }
}
