// @ts-check
// The page of a session.

import { blob, get, post, text } from "./api.js";
import { ask, button, complain, copy, exportSession, fragment, h, inOrder, put, reachScrolling, say, show as showDialog, sideBySide, soon } from "./dom.js";
import { listen, watch } from "./events.js";
import { Finder } from "./find.js";
import { panelNames, Panels, showOutline } from "./panels.js";
import { Place } from "./place.js";
import { RootList, Row, rowOf, segmentSize } from "./segment.js";

/** @typedef {import("./app.js").Context} Context */

/**
 * Shows a session.
 * @param {Context} context
 * @param {string} path
 */
export function show(context, path) {
  return new SessionPage(context, decodeURIComponent(path.slice("/s/".length)));
}

/** How long a refresh that has failed waits, in milliseconds. */
const refreshPause = 5000;

/**
 * The first rows of the sessions that were shown last, by ID: one that is opened again has them at once.
 * @type {Map<string, Awaited<ReturnType<import("./segment.js").View["fetchRows"]>>>}
 */
const firstRows = new Map();

/** The actions that select a row, or change what is below it. */
const moves = new Set(["down", "up", "next-group", "previous-group", "next-failure", "previous-failure", "open", "fold", "back"]);

/** Of how many sessions the first rows are kept. */
const maxFirstRows = 8;

export class SessionPage {
  /** @type {any} */
  newer;
  /** @type {any} */
  followButton;
  /** The composer, if pages may drive agents. @type {any} */
  composer = null;

  /**
   * @param {Context} context
   * @param {string} id
   */
  constructor(context, id) {
    this.context = context;
    this.id = id;
    this.api = `sessions/${encodeURIComponent(id)}`;
    this.scope = "session";
    /** Rows that the user has folded or unfolded. @type {Map<string, boolean>} */
    this.folds = new Map();
    /** How rows start: "usual", "folded" or "unfolded". */
    this.mode = "usual";
    /** @type {Row | null} */
    this.selected = null;
    /** The last action that selects a row, until it is done. @type {Promise<any> | null} */
    this.moving = null;
    /** The newest revision that an event has told. */
    this.revision = -1;
    this.unseen = 0;
    this.closed = false;
    /** The beginning, while it lasts. @type {Promise<void> | null} */
    this.starting = null;
    /** @type {any} */
    this.info = null;
    this.infos = inOrder();
    /** The first row that has changed since the last refresh, or -1. */
    this.dirty = -1;
    this.newTotal = 0;
    /** Whether the outline is beside the rows. */
    this.hasRoom = matchMedia("(min-width: 72rem)");
    this.refreshing = this.refreshFailed = false;
    this.list = new RootList(this);
    this.build();
    this.place = new Place(this.list, () => this.atEndChanged());
    this.finder = new Finder(this);
    this.panels = new Panels(this);
    this.endListen = listen((event) => this.heard(event));
    this.refreshOutline = soon(400, () => this.loadOutline());
    this.start();
  }

  build() {
    this.header = h("header.summary", { "aria-busy": "true" }, h("h1", {}, "…"));
    this.outline = h("nav.turns", { "aria-label": "Turns" });
    this.findBar = h("div.find", { hidden: true, role: "search" });
    this.followButton = button("Follow", () => this.toggleFollow(), { "aria-pressed": "false", title: "Follow the end (F)" });
    this.name = h("span.name", {});
    this.toolbar = h("div.toolbar", { role: "toolbar", "aria-label": "Session" }, this.name,
      button("Find", () => this.finder.open(), { title: "Find (/)" }),
      button("Outline", () => this.toggleOutline(), { className: "narrow", title: "Outline (p)" }),
      ...Object.entries(panelNames).map(([name, title]) => button(title, () => this.panels.toggle(name), { "data-panel": name, "aria-pressed": "false" })),
      button("Export", () => exportSession(this.id), { title: "Export (e)" }),
      button("Fold", () => this.foldAll(), { title: "Fold or unfold all rows (Z)" }),
      this.followButton);
    this.newer = button("", () => this.toEnd(), { className: "newer", hidden: true });
    this.dock = h("div.dock", { id: "dock" });
    this.tools = this.makeTools();
    this.list.element.addEventListener("click", (/** @type {MouseEvent} */ e) => this.clicked(e));
    this.list.element.addEventListener("focusin", (/** @type {FocusEvent} */ e) => this.select(rowOf(e.target), false));
    const sticky = h("div.sticky", {}, this.toolbar, this.findBar);
    this.context.main.replaceChildren(sticky, h("div.page", {}, this.outline,
      h("div.main", {}, this.header, this.list.element, h("p.end", {}), this.newer, this.dock)));
    document.body.className = "session-page";
  }

  /** The buttons of the selected row. */
  makeTools() {
    return h("div.tools", { role: "group", "aria-label": "Row" },
      button("Copy", () => this.act("copy"), { title: "Copy the row (y)" }),
      button("Markdown", () => this.act("copy-more"), { title: "Copy as Markdown (Y)" }),
      button("Entry", () => this.act("inspect"), { title: "The entry as it was written (i)" }),
      button("Link", () => this.copyLink(), { title: "Copy a link to the row" }));
  }

  /** Begins, unless it does already. If that fails, what has just changed may help: then it begins again. */
  start() {
    if (this.starting) {
      this.starting.catch(() => this.refreshInfo());
      return;
    }
    this.starting = this.begin();
    this.starting.catch((error) => this.failed(error, true)).finally(() => { this.starting = null; });
  }

  async begin() {
    watch([this.id]);
    const old = firstRows.has(this.id);
    const rows = this.list.load(0);
    rows.catch(() => {}); // it is waited for below
    this.addDock().catch(complain); // a question can come before there is a transcript
    await this.loadInfo();
    await rows;
    if (this.closed) return;
    if (old) this.resync();
    this.loadOutline();
    this.changed();
  }

  async loadInfo() {
    const isNewest = this.infos();
    const info = await get(this.api);
    if (this.closed || !isNewest()) return;
    this.info = info;
    this.place.keep(() => {
      put(this.header, info.html);
      if (!this.header.querySelector("h1")) this.header.prepend(h("h1", {}, info.title));
    });
    this.header.setAttribute("aria-busy", "false");
    this.name.textContent = info.title;
    this.context.setTitle(info.title);
  }

  /** Gives composer and questions their place, if pages may drive agents. */
  async addDock() {
    if (!this.context.me.drive) return;
    const { mount } = await import("./composer.js");
    if (!this.closed && !this.composer) this.composer = mount(this.dock, this);
  }

  /** Takes what the URL says: a row, a panel, a text to find. */
  changed() {
    const query = new URLSearchParams(location.search);
    this.panels.set(query.get("panel") ?? "", query);
    const q = query.get("find");
    if (q && q !== this.finder.query) this.finder.run(q);
    const row = new URLSearchParams(location.hash.slice(1)).get("row");
    if (row) this.goTo(row).catch(complain);
  }

  // What the rows need.

  /** @type {import("./segment.js").View["fetchRows"]} */
  async fetchRows(parent, from, n, signal) {
    const isFirst = parent === "" && from === 0 && n === segmentSize;
    const kept = isFirst && !this.list.begun && firstRows.get(this.id);
    if (kept) return kept;
    const answer = await get(`${this.api}/rows`, { parent, from, n }, signal);
    if (isFirst) keepFirst(this.id, answer);
    return answer;
  }

  /** @param {string} row */
  async fetchBody(row) { return (await get(`${this.api}/row`, { row, part: "body" })).html; }

  /**
   * @param {string} row
   * @param {string} n
   */
  fetchImage(row, n) { return blob(`${this.api}/row`, { row, n, part: "image" }); }

  /** @param {import("./segment.js").RowData} data */
  isOpen(data) {
    return this.folds.get(data.id) ?? (this.mode === "usual" ? data.open : this.mode === "unfolded");
  }

  /** @param {() => void} change */
  keep(change) { this.place.keep(change); }

  /** @param {import("./segment.js").RowList} list */
  loaded(list) {
    if (list === this.list && !this.selected) this.select(this.list.first, false);
    this.list.look();
    this.list.trimSoon();
    this.finder?.paint();
  }

  /**
   * @param {any} error
   * @param {boolean} [fatal]
   */
  failed(error, fatal = false) {
    if (error?.name === "AbortError" || this.closed) return;
    if (!fatal) return complain(error);
    firstRows.delete(this.id);
    this.header.replaceChildren(h("h1", {}, "The session can't be shown"), h("p.error", {}, error.message), error.hint && h("p", {}, error.hint));
    this.header.setAttribute("aria-busy", "false");
  }

  // Events.

  /** @param {import("./events.js").ServerEvent} event */
  heard({ type, data }) {
    if (type === "reload") this.resync();
    else if (type === "connected") this.retry();
    else if (type === "list" || type === "running") this.refreshInfo();
    else if (data.session !== this.id) return;
    else if (type === "rows") this.rowsChanged(data);
    else if (type === "turn") this.refreshOutline();
  }

  refreshInfo = soon(500, () => {
    if (this.closed) return;
    if (this.info) this.loadInfo().catch(complain);
    else this.start(); // there may be a transcript now
  });

  async resync() {
    try {
      const { total, revision } = await get(`${this.api}/rows`, { from: 0, n: 1 });
      this.revision = -1;
      this.list.forget();
      this.rowsChanged({ revision, first: 0, total });
      this.refreshInfo();
    } catch (error) {
      this.failed(error);
    }
  }

  /** @param {{revision: number, first: number, total: number}} change */
  rowsChanged({ revision, first, total }) {
    if (revision <= this.revision && total === this.list.total) return;
    this.revision = Math.max(revision, this.revision);
    this.dirty = this.dirty < 0 ? first : Math.min(this.dirty, first);
    this.newTotal = total;
    this.refresh();
    this.refreshOutline();
    this.refreshInfo();
    this.finder.again();
  }

  /** Fetches what has changed. Changes that come meanwhile are taken in the next round. */
  async refresh() {
    if (this.refreshing) return;
    this.refreshing = true;
    try {
      while (this.dirty >= 0 && !this.closed) await this.refreshFrom(this.dirty);
      this.refreshFailed = false;
    } catch (error) {
      if (!this.refreshFailed) this.failed(error);
      this.refreshFailed = true;
      setTimeout(() => this.refresh(), refreshPause);
    } finally {
      this.refreshing = false;
    }
  }

  /**
   * Fetches what has changed from a row on. If that fails, it is still to be done.
   * @param {number} first
   */
  async refreshFrom(first) {
    const before = this.list.total, { following } = this.place;
    this.dirty = -1;
    try {
      this.keep(() => this.list.setTotal(this.newTotal, this.revision));
      await this.list.refresh(first, this.revision);
      if (following) await this.list.load(this.list.segments.length - 1);
    } catch (error) {
      this.dirty = this.dirty < 0 ? first : Math.min(first, this.dirty);
      if (/** @type {Error} */ (error).name !== "AbortError") throw error;
    }
    if (this.closed) return;
    if (following) {
      this.place.toEnd();
    } else if (before && this.list.total > before) {
      this.unseen += this.list.total - before;
      this.showNewer();
    }
  }

  /** Tries again what has failed while the server was away. */
  retry() {
    this.refresh();
    this.list.retry();
  }

  // Moving.

  atEndChanged() {
    if (this.place.following) this.unseen = 0;
    this.showNewer();
    this.followButton.setAttribute("aria-pressed", String(this.place.following));
  }

  showNewer() {
    this.newer.hidden = this.unseen === 0;
    this.newer.textContent = `${this.unseen} new`;
  }

  toggleFollow() {
    if (!this.place.following) return this.toEnd();
    this.place.unfollow();
    say("Stays here");
  }

  async toEnd() {
    await this.list.load(Math.max(0, this.list.segments.length - 1));
    this.place.toEnd();
    const rows = this.list.segments.at(-1)?.rows;
    this.select(rows?.at(-1) ?? null);
  }

  async toBegin() {
    await this.list.load(0);
    this.select(this.list.first);
    this.place.toTop();
  }

  /**
   * Selects a row. It is the one that Tab reaches, and has the focus unless the user is elsewhere.
   * @param {Row | null} row
   * @param {boolean} [focus]
   */
  select(row, focus = true) {
    if (!row) return;
    if (row !== this.selected) {
      const old = this.selected?.element;
      old?.classList.remove("selected");
      if (old) old.tabIndex = -1;
      this.selected = row;
      row.element.classList.add("selected");
      row.element.tabIndex = 0;
      row.line.append(this.tools);
      reachScrolling(row.part);
    }
    if (focus && document.activeElement !== row.element) row.element.focus({ preventScroll: true });
  }

  /**
   * Selects the next row in a direction, and scrolls if it must.
   * @param {Row | null} row
   * @param {number} direction
   */
  async step(row, direction) {
    let next = row;
    do next = next && await (direction > 0 ? this.after(next) : this.before(next));
    while (next && !next.isShown);
    if (!next) {
      if (direction > 0) this.place.toEnd();
      return;
    }
    this.select(next);
    this.place.reveal(next.element, next.line);
  }

  /** The selected row if it is in the document, or the first one in view. */
  current() {
    if (this.selected?.element.isConnected) return this.selected;
    return this.place.firstRow() ?? this.list.first;
  }

  /** @param {Row} row */
  async after(row) {
    if (row.open && row.below) {
      const child = await row.below.at(0);
      if (child) return child;
    }
    /** @type {Row | null} */
    let r = row;
    while (r) {
      const next = await r.list.at(r.index + 1);
      if (next) return next;
      r = this.parentOf(r);
    }
    return null;
  }

  /** @param {Row} row */
  async before(row) {
    let r = await row.list.at(row.index - 1);
    if (!r) return this.parentOf(row);
    while (r.open && r.below && await r.below.at(0)) {
      const child = await r.below.at(r.below.total - 1);
      if (!child) break;
      r = child;
    }
    return r;
  }

  /** @param {Row} row */
  parentOf(row) {
    return rowOf(row.element.parentElement);
  }

  /**
   * Goes to a row by its ID, wherever it is, and unfolds what it is below. A page that is left
   * meanwhile goes nowhere.
   * @param {string} id
   * @param {{open?: boolean, step?: string, back?: boolean}} [how]
   */
  async goTo(id, { open = false, step, back } = {}) {
    const { path } = await get(`${this.api}/where`, { row: id, step, back });
    /** @type {import("./segment.js").RowList} */
    let list = this.list;
    /** @type {Row | null} */
    let row = null;
    for (const [depth, at] of path.entries()) {
      if (this.closed) return null;
      row = await list.at(at.index);
      if (!row || this.closed) return null;
      if (depth === path.length - 1) break;
      this.fold(row, true);
      if (!row.below) break;
      await row.below.load(0);
      list = row.below;
    }
    if (!row) return null;
    this.select(row); // so it stays
    if (open) {
      this.fold(row, true);
      await row.fetchBody();
      if (this.closed) return null;
    }
    this.place.to(row.element);
    return row;
  }

  // Folding.

  /**
   * @param {Row} row
   * @param {boolean} open
   */
  fold(row, open) {
    this.folds.set(row.id, open);
    this.place.keep(() => row.setOpen(open), row.element);
    if (!open) this.place.reveal(row.element, row.line); // its line may be far above
  }

  foldAll() {
    this.mode = this.mode === "usual" ? "folded" : this.mode === "folded" ? "unfolded" : "usual";
    this.folds.clear();
    this.place.keep(() => {
      for (const element of this.list.element.querySelectorAll("article.row")) {
        const row = rowOf(element);
        row?.setOpen(this.isOpen(row.data));
      }
    }, this.selected?.element);
    say({ usual: "Prompts and answers are unfolded", folded: "All rows are folded", unfolded: "All rows are unfolded" }[this.mode] ?? "");
  }

  /** @param {MouseEvent} e */
  clicked(e) {
    const target = /** @type {Element} */ (e.target);
    const row = rowOf(target);
    if (!row || this.tools.contains(target) || target.closest("a[href], .part, summary")) return;
    if (!target.closest(".line") || !getSelection()?.isCollapsed) return;
    this.select(row);
    this.fold(row, !row.open);
  }

  // Actions.

  /**
   * @param {string} action
   * @returns {boolean}
   */
  act(action) {
    if (this.panels.hasFocus() && this.panels.act(action)) return true;
    const act = this.actions[action];
    if (!act) return false;
    const run = () => act(this.current());
    // A key acts on the row that the keys before it select, even while that row is loaded.
    const result = Promise.resolve(act.length && this.moving ? this.moving.then(run) : run()).catch(complain);
    if (!moves.has(action)) return true;
    this.moving = result;
    result.then(() => {
      if (this.moving === result) this.moving = null;
    });
    return true;
  }

  /** @type {Record<string, (row: Row | null) => any>} */
  actions = {
    down: (row) => this.step(row, 1),
    up: (row) => this.step(row, -1),
    "half-down": () => this.page(0.5),
    "half-up": () => this.page(-0.5),
    "page-down": () => this.page(0.9),
    "page-up": () => this.page(-0.9),
    top: () => this.toBegin(),
    bottom: () => this.toEnd(),
    open: (row) => row && (row.open ? this.inspect(row) : this.fold(row, true)),
    back: (row) => this.back(row),
    fold: (row) => row && this.fold(row, !row.open),
    "fold-all": () => this.foldAll(),
    "next-group": (row) => row && this.jump(row, "prompt", false),
    "previous-group": (row) => row && this.jump(row, "prompt", true),
    "next-failure": (row) => row && this.jump(row, "failure", false),
    "previous-failure": (row) => row && this.jump(row, "failure", true),
    find: () => this.finder.open(),
    "next-match": () => this.finder.next(1),
    "previous-match": () => this.finder.next(-1),
    "search-this": () => this.context.go(`/search?q=${encodeURIComponent(this.finder.query)}`),
    preview: () => this.toggleOutline(),
    follow: () => this.toggleFollow(),
    thinking: (row) => this.toggleThinking(row),
    agents: () => this.panels.toggle("agents"),
    files: () => this.panels.toggle("files"),
    context: () => this.panels.toggle("context"),
    usage: () => this.panels.toggle("usage"),
    branches: () => this.panels.toggle("branches"),
    copy: (row) => row && copy(textOf(row), "the row"),
    "copy-more": async (row) => row && copy(await text(`${this.api}/markdown`, { row: row.id }), "the row as Markdown"),
    inspect: (row) => row && this.inspect(row, "raw"),
    resume: () => this.copyCommand(),
    continue: () => this.composer?.focus ? this.composer.focus() : this.copyCommand(),
    rename: () => this.rename(),
    export: () => exportSession(this.id),
  };

  /** @param {Row | null} row */
  async toggleThinking(row) {
    while (row?.data.kind === "thinking") row = await this.after(row); // it may be hidden, and can't hold the place
    this.place.keep(() => document.body.classList.toggle("no-thinking"), row?.element);
    if (row && this.selected && !this.selected.isShown) this.select(row);
  }

  /** @param {number} part of the window */
  page(part) {
    this.place.scroll(part * (innerHeight - 100));
    const row = this.place.firstRow();
    if (row) this.select(row);
  }

  /**
   * @param {Row} row
   * @param {string} step
   * @param {boolean} back
   */
  async jump(row, step, back) {
    try {
      await this.goTo(row.id, { step, back });
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) throw error;
      say(back ? `No ${step} before this row` : `No more ${step}s`);
    }
  }

  /**
   * Ends what was begun last: a panel, a search, an open row, the rows of a subagent, the page.
   * @param {Row | null} row
   */
  back(row) {
    if (this.panels.name) return this.panels.set("");
    if (this.finder.query) return this.finder.close();
    if (row?.open && !row.data.open) return this.fold(row, false);
    const parent = row && this.parentOf(row);
    if (parent) {
      this.select(parent);
      return this.place.reveal(parent.element, parent.line);
    }
    if (history.state?.inside) history.back();
    else this.context.go("/");
  }

  /**
   * Shows the parts of a row in a dialog.
   * @param {Row} row
   * @param {string} [part]
   */
  inspect(row, part = "body") {
    const content = h("div.part", { "aria-live": "off" });
    let visits = 0;
    const load = async (/** @type {string} */ name) => {
      const visit = ++visits;
      for (const b of tabs.children) b.setAttribute("aria-pressed", String(b.dataset.part === name));
      try {
        const { html } = await get(`${this.api}/row`, { row: row.id, part: name });
        if (visit !== visits) return;
        const nodes = fragment(html);
        content.replaceChildren(nodes);
        sideBySide(content);
        reachScrolling(content);
      } catch (error) {
        if (visit === visits) content.replaceChildren(h("p.missing", {}, /** @type {Error} */ (error).message));
      }
    };
    const parts = { body: "Row", input: "Input", result: "Result", diff: "Diff", raw: "Entry" };
    const shown = Object.entries(parts).filter(([name]) => row.data.body === undefined || name === "body" || name === "raw");
    const tabs = h("div.tabs", { role: "group", "aria-label": "Parts" },
      ...shown.map(([name, title]) => button(title, () => load(name), { "data-part": name })));
    showDialog("Row " + row.id, h("div", {}, tabs, content), "wide");
    return load(part);
  }

  copyLink() {
    if (this.selected) copy(`${location.origin}${location.pathname}#row=${encodeURIComponent(this.selected.id)}`, "the link");
  }

  copyCommand() {
    const command = this.header.querySelector("[data-command], .resume code")?.textContent ?? `claude --resume ${this.id}`;
    copy(command, "the command that resumes the session");
  }

  async rename() {
    const title = await ask({ title: "Rename the session", yes: "Rename", value: this.info?.title ?? "" });
    if (title === null) return;
    await post(`${this.api}/rename`, { title });
    await this.loadInfo();
  }

  // The outline.

  /** Gets the outline if there is room for it. */
  loadOutline() {
    if (!this.closed && this.hasRoom.matches) showOutline(this.outline, this.api, () => this.closed).catch((error) => this.failed(error));
  }

  toggleOutline() {
    if (this.hasRoom.matches) document.body.classList.toggle("no-outline");
    else this.panels.toggle("outline");
  }

  close() {
    this.closed = true;
    this.endListen();
    this.place.close();
    this.list.close();
    this.finder.close();
    this.panels.close();
    this.composer?.close?.();
  }
}

/**
 * Keeps the first rows of a session, and forgets those of the one that was kept first.
 * @param {string} id
 * @param {Awaited<ReturnType<import("./segment.js").View["fetchRows"]>>} answer
 */
function keepFirst(id, answer) {
  firstRows.delete(id);
  firstRows.set(id, answer);
  for (const other of firstRows.keys()) if (firstRows.size > maxFirstRows) firstRows.delete(other);
}

/** @param {Row} row */
function textOf(row) {
  const parts = [row.line.querySelector(".head"), row.open ? row.part : null].map((e) => e?.innerText.trim());
  return parts.filter(Boolean).join("\n\n");
}
