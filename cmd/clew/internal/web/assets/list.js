// @ts-check
// The list of sessions. All rows have the same height, so that only those near the view are in the
// document and the rest is a height.

import { get, post } from "./api.js";
import { ask, button, complain, copy, exportSession, fragment, h, later, number, say, soon } from "./dom.js";
import { listen } from "./events.js";

/** @typedef {import("./app.js").Context} Context */
/**
 * A row. Its ID is the one in addresses; a session has its own as well.
 * @typedef {{id: string, session?: string, html: string, resume?: string}} Item
 */

const tabs = { recent: "Recent", live: "Live", projects: "Projects", trash: "Trash" };
const pageSize = 100;
/** How many rows are in the document at most. */
const maxShown = 180;
const maxPages = 40;

/** Where the last list was left, for the way back. @type {{key: string, selected: number, y: number} | null} */
let left = null;

/** @param {Context} context */
export function show(context) { return new ListPage(context); }

class ListPage {
  /** @type {any} */
  ofProject;

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.scope = "sessions";
    this.tab = "recent";
    this.filter = "";
    this.project = "";
    this.total = 0;
    this.revision = -1;
    this.selected = 0;
    this.selectedID = "";
    this.from = 0;
    this.rowHeight = 0;
    this.closed = false;
    this.visits = 0;
    /** Pages of rows, by their numbers. @type {Map<number, Item[]>} */
    this.pages = new Map();
    /** @type {Set<number>} */
    this.loading = new Set();
    this.build();
    /** Where the page is scrolled to. */
    this.y = 0;
    this.other = false; // whether another list than before is wanted
    this.scrolled = () => { this.y = scrollY; this.draw(); };
    addEventListener("scroll", this.scrolled, { passive: true });
    addEventListener("resize", this.scrolled);
    this.reloadSoon = soon(300, () => this.reload());
    this.endListen = listen(({ type }) => { if (type === "list" || type === "running" || type === "reload") this.reloadSoon(); });
    context.setTitle("Sessions");
    this.changed();
  }

  build() {
    this.input = h("input", { type: "search", placeholder: "Filter: words, 'exact, !not, a | b", "aria-label": "Filter the sessions", maxLength: 500, spellcheck: false });
    this.input.addEventListener("input", later(120, () => this.setFilter(this.input.value)));
    this.input.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.pressInFilter(e));
    this.tabs = h("div.tabs", { role: "group", "aria-label": "Lists" }, ...Object.entries(tabs).map(([name, title]) =>
      button(title, () => this.setTab(name), { "data-tab": name, "aria-pressed": "false" })));
    this.ofProject = button("", () => { this.project = ""; this.keepInURL(); }, { hidden: true, title: "Show all projects" });
    this.before = h("div.space", { role: "presentation" });
    this.rows = h("div.window", { role: "presentation" });
    this.after = h("div.space", { role: "presentation" });
    this.list = h("div.list", { role: "list", "aria-label": "Sessions", "aria-busy": "true" }, this.before, this.rows, this.after);
    this.rows.addEventListener("focusin", (/** @type {FocusEvent} */ e) => {
      const item = /** @type {HTMLElement} */ (e.target).closest(".item");
      if (item instanceof HTMLElement) this.mark(Number(item.dataset.index));
    });
    this.empty = h("p.empty", { hidden: true });
    this.count = h("span.count", { role: "status" });
    this.starter = h("div.starter");
    this.context.main.replaceChildren(h("div.sheet", {}, h("h1.sr", {}, "Sessions"), this.starter,
      h("div.sticky.controls", {}, this.tabs, this.ofProject, this.input, this.count), this.list, this.empty));
    document.body.className = "list-page";
    if (this.context.me.drive) this.addStarter();
  }

  /** Lets the user start an agent, if pages may. */
  async addStarter() {
    const composer = await import("./composer.js");
    if (!this.closed) composer.mountStart?.(this.starter, this.context);
  }

  /** Takes what the URL says. */
  changed() {
    const query = new URLSearchParams(location.search);
    const tab = query.get("tab") ?? "recent";
    this.tab = tab in tabs ? tab : "recent";
    this.filter = query.get("filter") ?? "";
    this.project = query.get("project") ?? "";
    this.ofProject.hidden = !this.project;
    this.ofProject.textContent = `Project: ${this.project} ✕`;
    if (this.input.value !== this.filter) this.input.value = this.filter;
    for (const b of this.tabs.children) b.setAttribute("aria-pressed", String(b.dataset.tab === this.tab));
    this.reload(true);
  }

  keepInURL() {
    const query = new URLSearchParams();
    if (this.tab !== "recent") query.set("tab", this.tab);
    if (this.filter) query.set("filter", this.filter);
    if (this.project) query.set("project", this.project);
    this.context.go(query.size ? `/?${query}` : "/", true);
    this.changed();
  }

  /** @param {string} tab */
  setTab(tab) {
    this.tab = tab;
    this.project = "";
    this.keepInURL();
  }

  /** @param {string} text */
  setFilter(text) {
    if (this.closed || text === this.filter) return;
    this.filter = text;
    this.keepInURL();
  }

  /** @param {KeyboardEvent} e */
  pressInFilter(e) {
    if (e.key === "Escape" && this.input.value) this.setFilter(this.input.value = "");
    else if (e.key === "Enter" || e.key === "ArrowDown" || e.key === "Escape") this.focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  /**
   * Gets the rows in view again. What is shown stays until they are there.
   * @param {boolean} [other] whether it is another list
   */
  async reload(other = false) {
    const visit = ++this.visits;
    this.other ||= other; // also if this request is overtaken by one of the same list
    const wanted = this.other ? [0] : [...new Set([this.pageOf(this.from), this.pageOf(this.lastShown())])];
    try {
      const answers = await Promise.all(wanted.map((p) => this.fetch(p)));
      if (visit !== this.visits || this.closed) return;
      this.pages.clear();
      this.loading.clear();
      answers.forEach((a, i) => this.pages.set(wanted[i], a.rows ?? []));
      other = this.other;
      this.other = false;
      this.take(answers[0], other);
    } catch (error) {
      if (visit === this.visits) this.fail(error);
    }
  }

  /**
   * @param {any} answer
   * @param {boolean} other
   */
  take(answer, other) {
    this.total = answer.total;
    this.revision = answer.revision;
    for (const b of this.tabs.children) {
      const n = answer.counts?.[b.dataset.tab];
      b.replaceChildren(tabs[/** @type {keyof tabs} */ (b.dataset.tab)], n === undefined ? "" : h("span.n", {}, ` ${number(n)}`));
    }
    this.list.setAttribute("aria-busy", "false");
    this.empty.hidden = this.total > 0;
    this.empty.textContent = this.filter ? "No session matches." : this.tab === "live" ? "No agent is running." : "There are no sessions here.";
    this.count.textContent = this.filter ? `${number(this.total)} found` : "";
    if (other) this.begin();
    else this.draw(true);
  }

  get key() { return JSON.stringify([this.tab, this.filter, this.project]); }

  /** Begins at the first row, or where the list was left. */
  begin() {
    const back = left?.key === this.key ? left : null;
    left = null;
    this.selected = back?.selected ?? this.firstItem();
    this.draw(true);
    scrollTo({ top: back?.y ?? 0, behavior: "instant" });
    if (!back) return;
    this.draw();
    if (document.activeElement === document.body || document.activeElement === this.context.main) this.focus(true);
  }

  /** @param {any} error */
  fail(error) {
    this.empty.hidden = false;
    this.empty.textContent = error.message;
    complain(error);
  }

  /** @param {number} page */
  fetch(page) {
    return get("sessions", { tab: this.tab, filter: this.filter, project: this.project, from: page * pageSize, n: pageSize });
  }

  /** @param {number} index */
  pageOf(index) { return Math.floor(Math.max(0, index) / pageSize); }

  /** @param {number} index */
  item(index) { return this.pages.get(this.pageOf(index))?.[index % pageSize]; }

  firstItem() {
    const first = this.pages.get(0) ?? [];
    return Math.max(0, first.findIndex((i) => !isDay(i)));
  }

  /** How many rows fit into the window. */
  get shown() { return this.rowHeight ? Math.ceil(innerHeight / this.rowHeight) : 30; }

  lastShown() { return Math.max(0, Math.min(this.total, this.from + maxShown) - 1); }

  /**
   * Puts the rows near the view into the document.
   * @param {boolean} [force]
   */
  draw(force = false) {
    if (this.closed) return;
    if (!this.rowHeight) this.measure();
    const margin = Math.floor((maxShown - this.shown) / 2);
    const above = Math.floor((scrollY - this.listTop()) / (this.rowHeight || 64));
    const from = Math.max(0, Math.min(above - margin, this.total - maxShown));
    const near = Math.abs(from - this.from) < margin / 2;
    if (force || !near) this.fill(from);
    this.fetchMissing();
  }

  listTop() { return this.list.getBoundingClientRect().top + scrollY; }

  measure() {
    const probe = h("div.item", {}, "\u00a0");
    this.rows.append(probe);
    this.rowHeight = probe.getBoundingClientRect().height;
    probe.remove();
  }

  /** @param {number} from */
  fill(from) {
    const focused = this.rows.contains(document.activeElement);
    this.from = from;
    const to = Math.min(this.total, from + maxShown);
    const old = new Map([...this.rows.children].map((e) => [e.dataset.index, e]));
    const elements = [];
    for (let i = from; i < to; i++) elements.push(this.element(i, old.get(String(i))));
    this.rows.replaceChildren(...elements);
    this.before.style.height = `${from * this.rowHeight}px`;
    this.after.style.height = `${(this.total - to) * this.rowHeight}px`;
    this.mark(this.selected);
    if (focused && !this.rows.contains(document.activeElement)) this.focus(true);
  }

  /**
   * Returns the element of a row, the old one if it is the same.
   * @param {number} index
   * @param {any} old
   */
  element(index, old) {
    const item = this.item(index);
    if (old && item && old.clewHTML === item.html && old.dataset.id === item.id) return old;
    const day = !!item && isDay(item);
    const element = h(day ? "div.item.day" : "div.item", {
      "data-index": index, "data-id": item?.id ?? "", role: "listitem", "aria-setsize": this.total, "aria-posinset": index + 1,
    });
    element.clewHTML = item?.html;
    if (item) element.append(fragment(item.html));
    else element.append(h("span.soft", {}, "…"));
    this.target(element).tabIndex = -1;
    return element;
  }

  /** Fetches the pages of rows in view that are not there. */
  fetchMissing() {
    const first = Math.max(this.from, Math.floor((scrollY - this.listTop()) / (this.rowHeight || 64)) - 20);
    const last = Math.min(this.total - 1, first + this.shown + 40);
    for (let p = this.pageOf(first); p <= this.pageOf(last) && this.total; p++) {
      if (this.pages.has(p) || this.loading.has(p)) continue;
      this.loading.add(p);
      this.fetchPage(p);
    }
  }

  /** @param {number} page */
  async fetchPage(page) {
    const visit = this.visits;
    try {
      const answer = await this.fetch(page);
      if (visit !== this.visits || this.closed) return;
      this.pages.set(page, answer.rows ?? []);
      if (this.pages.size > maxPages) this.pages.delete(/** @type {number} */ (this.pages.keys().next().value));
      this.draw(true);
    } catch (error) {
      complain(error);
    } finally {
      this.loading.delete(page);
    }
  }

  /**
   * What has the focus of a row: its link, or the row itself.
   * @param {any} element
   */
  target(element) { return element.querySelector("a[href]") ?? element; }

  /** @param {number} index */
  mark(index) {
    this.selected = Math.max(0, Math.min(index, this.total - 1));
    for (const e of this.rows.children) {
      const is = Number(e.dataset.index) === this.selected;
      e.classList.toggle("selected", is);
      this.target(e).tabIndex = is ? 0 : -1;
    }
  }

  /** @param {boolean} [quiet] whether the page must not scroll */
  focus(quiet = false) {
    const element = this.rows.querySelector(".item.selected");
    if (element) this.target(element).focus({ preventScroll: true });
    if (!quiet) this.reveal();
  }

  reveal() {
    const top = (document.querySelector(".sticky")?.getBoundingClientRect().bottom ?? 0) + 8;
    const y = this.listTop() + this.selected * this.rowHeight - scrollY;
    if (y < top + this.rowHeight) scrollBy({ top: y - top - this.rowHeight, behavior: "instant" });
    else if (y + this.rowHeight > innerHeight - 16) scrollBy({ top: y + this.rowHeight - innerHeight + 16, behavior: "instant" });
  }

  /** @param {number} by */
  async move(by) {
    await this.select(this.selected + by, by < 0 ? -1 : 1);
  }

  /**
   * Selects a row, or the next one in a direction that is not a day.
   * @param {number} index
   * @param {number} direction
   */
  async select(index, direction) {
    index = Math.max(0, Math.min(index, this.total - 1));
    for (let turned = false; ; index += direction) {
      if (index < 0 || index >= this.total) {
        if (turned) return;
        turned = true;
        direction = -direction;
        continue;
      }
      if (!this.item(index)) await this.fetchPage(this.pageOf(index));
      const item = this.item(index);
      if (!item || !isDay(item)) break;
    }
    this.selected = index;
    this.reveal();
    this.draw();
    if (index < this.from || index >= this.from + maxShown) this.fill(Math.max(0, index - maxShown / 2));
    this.mark(index);
    this.focus(true);
  }

  /** @param {number} direction */
  async moveDay(direction) {
    for (let i = this.selected + direction; i >= 0 && i < this.total; i += direction) {
      if (!this.item(i)) await this.fetchPage(this.pageOf(i));
      const item = this.item(i);
      if (!item) return;
      if (isDay(item) && (direction > 0 || i < this.selected - 1)) return this.select(i + 1, 1);
    }
  }

  open() {
    const link = this.rows.querySelector(".item.selected a[href]");
    if (link instanceof HTMLElement) link.click();
  }

  /** @param {string} action */
  act(action) {
    const run = this.actions[action];
    if (!run) return false;
    const item = this.item(this.selected);
    Promise.resolve(run(item && !isDay(item) ? item.id : "", item?.session ?? "", item?.resume ?? "")).catch(complain);
    return true;
  }

  /** @type {Record<string, (id: string, session: string, resume: string) => any>} */
  actions = {
    down: () => this.move(1),
    up: () => this.move(-1),
    "half-down": () => this.move(Math.ceil(this.shown / 2)),
    "half-up": () => this.move(-Math.ceil(this.shown / 2)),
    "page-down": () => this.move(this.shown - 3),
    "page-up": () => this.move(3 - this.shown),
    top: () => this.select(0, 1),
    bottom: () => this.select(this.total - 1, -1),
    open: () => this.open(),
    back: () => this.filter && this.setFilter(this.input.value = ""),
    find: () => this.input.focus(),
    "next-tab": () => this.nextTab(1),
    "previous-tab": () => this.nextTab(-1),
    "next-group": () => this.moveDay(1),
    "previous-group": () => this.moveDay(-1),
    copy: (_, session) => session && copy(session, "the ID"),
    "copy-more": (_id, _session, resume) => resume && copy(resume, "the command that resumes the session"),
    resume: (_id, _session, resume) => resume && copy(resume, "the command that resumes the session"),
    continue: (id) => id && this.open(),
    rename: (id) => id && this.rename(id),
    tag: (id) => id && this.setTag(id),
    delete: (id) => id && this.remove(id),
    inspect: () => this.open(),
    export: (id) => id && this.tab !== "trash" && exportSession(id),
  };

  /** @param {number} direction */
  nextTab(direction) {
    const names = Object.keys(tabs);
    this.setTab(names[(names.indexOf(this.tab) + direction + names.length) % names.length]);
  }

  /** @param {string} id */
  async rename(id) {
    if (this.tab === "trash") return this.change(id, "restore", {}, "Restored");
    const title = await ask({ title: "Rename the session", yes: "Rename", value: "" });
    if (title !== null) await this.change(id, "rename", { title }, "Renamed");
  }

  /** @param {string} id */
  async setTag(id) {
    const tag = await ask({ title: "Tag the session", note: "An empty tag removes it.", yes: "Tag", value: "" });
    if (tag !== null) await this.change(id, "tag", { tag }, "Tagged");
  }

  /** @param {string} id */
  async remove(id) {
    const yes = await ask({ title: "Move the session to the trash?", note: "It can be restored from there.", yes: "Move to the trash", danger: true });
    if (yes !== null) await this.change(id, "delete", {}, "Moved to the trash");
  }

  /**
   * @param {string} id
   * @param {string} what
   * @param {any} body
   * @param {string} done
   */
  async change(id, what, body, done) {
    await post(`sessions/${encodeURIComponent(id)}/${what}`, body);
    say(done);
    await this.reload();
    this.focus(true);
  }

  close() {
    this.closed = true;
    left = { key: this.key, selected: this.selected, y: this.y };
    this.endListen();
    removeEventListener("scroll", this.scrolled);
    removeEventListener("resize", this.scrolled);
  }
}

/** @param {Item} item */
function isDay(item) { return item.id.startsWith("day:"); }
