// @ts-check
// Rows in segments: those near the view are in the document, a far segment is one empty element of its
// known or estimated height.

import { fillImages, fragment, h, inOrder, later, put, soon } from "./dom.js";

/** @typedef {{id: string, kind: string, state: string, open: boolean, below: number, html: string, body?: string}} RowData */

/**
 * What a list of rows needs from the page.
 * @typedef {{
 *   fetchRows(parent: string, from: number, n: number, signal?: AbortSignal): Promise<{revision: number, total: number, rows: RowData[]}>,
 *   fetchBody(row: string): Promise<string>,
 *   fetchImage(row: string, n: string): Promise<Blob>,
 *   isOpen(row: RowData): boolean,
 *   keep(change: () => void): void,
 *   loaded(list: RowList): void,
 *   failed(error: any): void,
 * }} View
 */

/** How many rows a segment has. */
export const segmentSize = 25;

/** How many rows of a session stay in the document, unless more are near the view. */
const maxLoaded = 200;

/** How long rows are made until they are put into the document, in milliseconds. Then the browser may draw. */
const sliceTime = 5;

/** How far from the view rows are loaded, in heights of the window. */
const nearby = 1;

/** How fast rows may go past to be worth loading, in heights of the window a second. Faster ones can't be read. */
const readable = 5;

/** How long the page must rest after it went past faster, in milliseconds. */
const restTime = 60;

/** How long after a load far rows are dropped, in milliseconds. */
const trimTime = 500;

/** How long a segment that could not be loaded is left alone, in milliseconds. */
const failureTime = 2000;

/** The height of a row before any was measured, in pixels. */
const guessedHeight = 44;

/** The rows of elements. @type {WeakMap<Element, Row>} */
const rowsOf = new WeakMap();

/**
 * Returns the row that an element is in, or null.
 * @param {any} element
 * @returns {Row | null}
 */
export function rowOf(element) {
  const article = element?.closest?.("article.row");
  return article ? rowsOf.get(article) ?? null : null;
}

/** A row of a session, and what is below it. */
export class Row {
  /**
   * @param {RowList} list
   * @param {number} index in the list
   * @param {RowData} data
   */
  constructor(list, index, data) {
    this.list = list;
    this.view = list.view;
    this.index = index;
    this.data = data;
    this.id = data.id;
    this.open = false;
    /** @type {RowList | null} */
    this.below = null;
    /** Whether the body was asked for. */
    this.asked = false;
    /** @type {Promise<void> | null} */
    this.filling = null;
    /** The requests for the body. */
    this.bodies = inOrder();
    this.line = h("div.line");
    this.part = h("div.part", { hidden: true });
    this.element = h("article.row", { tabIndex: -1 }, this.line, this.part);
    rowsOf.set(this.element, this);
    this.fill(data);
    if (this.view.isOpen(data)) this.setOpen(true);
  }

  /** Whether it is seen when one scrolls there: thinking may be hidden. */
  get isShown() { return this.element.getClientRects().length > 0; }

  /** Whether there is something to unfold. */
  get folds() { return true; }

  /** @param {RowData} data */
  fill(data) {
    this.data = data;
    this.element.className = `row ${data.kind} ${data.state.replace(/ /g, "-")}${this.element.classList.contains("selected") ? " selected" : ""}${this.open ? " open" : ""}`;
    this.element.dataset.row = data.id;
    put(this.head(), data.html);
    if (data.body !== undefined && data.body !== this.body) this.setBody(data.body);
  }

  /** The element with the line of the row: a button, unless it has something else that one can use. */
  head() {
    const plain = data_isPlain(this.data);
    const tag = plain ? "DIV" : "BUTTON";
    let head = this.line.querySelector(":scope > .head");
    if (head?.tagName !== tag) {
      head?.remove();
      head = plain ? h("div.head") : h("button.head", { type: "button", tabIndex: -1, "aria-expanded": String(this.open) });
      this.line.prepend(head);
    }
    return head;
  }

  /** @param {string} html */
  setBody(html) {
    this.body = html;
    this.asked = true;
    const nodes = fragment(html);
    fillImages(nodes, (row, n) => this.view.fetchImage(row || this.id, n));
    this.part.replaceChildren(nodes);
  }

  /** @param {boolean} open */
  setOpen(open) {
    if (open === this.open) return;
    this.open = open;
    this.element.classList.toggle("open", open);
    this.line.querySelector(":scope > button.head")?.setAttribute("aria-expanded", String(open));
    this.part.hidden = !open;
    if (this.below) this.below.element.hidden = !open;
    if (!open) return;
    if (!this.below?.segments.length) this.addBelow();
    if (!this.asked) this.list.root.observeBody(this);
  }

  /** Begins to load the rows below, if there are any. */
  addBelow() {
    if (!this.data.below) return;
    if (!this.below) {
      this.below = new RowList(this.view, this.id, this.list.depth + 1, this.list.root);
      this.element.append(this.below.element);
    }
    this.below.load(0).catch((error) => this.view.failed(error));
  }

  /** Gets the body, if it is not there. */
  fetchBody() {
    if (this.asked) return this.filling ?? Promise.resolve();
    this.asked = true;
    const isNewest = this.bodies();
    this.filling = this.view.fetchBody(this.id).then((html) => {
      if (!isNewest()) return;
      this.filling = null;
      this.view.keep(() => this.setBody(html));
    }, (error) => {
      if (!isNewest()) return;
      this.asked = false;
      this.filling = null;
      this.view.failed(error);
    });
    return this.filling;
  }

  /**
   * Takes the new state of the row, and keeps what is open and where the focus is.
   * @param {RowData} data
   */
  update(data) {
    const same = data.html === this.data.html && data.state === this.data.state && data.below === this.data.below && data.body === this.data.body;
    const { asked, filling } = this;
    this.data = { ...data };
    if (!same) {
      this.fill(data);
      if (this.open && data.body === undefined && asked) Promise.resolve(filling).then(() => this.refetchBody());
    }
    if (!this.open) {
      if (!same && data.body === undefined) this.asked = false;
      return;
    }
    if (this.below?.segments.length) this.below.renew().catch((error) => this.view.failed(error));
    else this.addBelow();
  }

  refetchBody() {
    const isNewest = this.bodies();
    this.view.fetchBody(this.id).then((html) => {
      if (isNewest() && html !== this.body) this.view.keep(() => this.setBody(html));
    }, (error) => this.view.failed(error));
  }
}

/** @param {RowData} data */
function data_isPlain(data) {
  return data.body !== undefined || /<(a|button|h[1-6]|summary|input)\b/.test(data.html);
}

/** Rows with the same parent. */
export class RowList {
  /**
   * @param {View} view
   * @param {string} parent a row, or "" for the rows of the session
   * @param {number} depth
   * @param {RootList} [root]
   */
  constructor(view, parent, depth, root) {
    this.view = view;
    this.parent = parent;
    this.depth = depth;
    this.root = root ?? /** @type {any} */ (this);
    this.element = h(depth ? "div.below" : "div.rows", depth ? {} : { role: "feed", "aria-label": "Rows of the session", "aria-busy": "true" });
    this.total = 0;
    /** @type {Segment[]} */
    this.segments = [];
    /** The loads of segments, which may not be there yet, by their numbers. @type {Map<number, Promise<void>>} */
    this.loading = new Map();
    /** The newest revision of the session that has told the total. */
    this.revision = -1;
    /** Whether all is being fetched again, and whether it must be once more. */
    this.renewing = this.outdated = false;
  }

  /**
   * Takes the number of rows, unless a newer one is known.
   * @param {number} total
   * @param {number} revision
   */
  setTotal(total, revision) {
    if (revision < this.revision) return;
    this.revision = revision;
    this.total = total;
    const n = Math.ceil(total / segmentSize);
    while (this.segments.length > n) this.segments.pop()?.remove();
    while (this.segments.length < n) this.segments.push(new Segment(this, this.segments.length));
    this.segments[n - 1]?.estimate();
  }

  /**
   * Loads a segment, unless it is there.
   * @param {number} number
   * @param {AbortSignal} [signal]
   */
  async load(number, signal) {
    const begun = this.loading.get(number);
    if (begun || this.segments[number]?.rows) return begun;
    const loading = this.fetch(number, signal);
    this.loading.set(number, loading);
    try {
      await loading;
    } finally {
      this.loading.delete(number);
    }
  }

  /**
   * @param {number} number
   * @param {AbortSignal} [signal]
   */
  async fetch(number, signal) {
    const answer = await this.view.fetchRows(this.parent, number * segmentSize, segmentSize, signal);
    this.view.keep(() => this.setTotal(answer.total, answer.revision));
    await this.segments[number]?.show(answer, signal);
    this.element.setAttribute("aria-busy", "false");
    this.root.begun = true;
    this.view.loaded(this);
  }

  /**
   * Takes the changes from a row on, for the segments that are in the document and older.
   * @param {number} first
   * @param {number} [revision] of the session that has them
   */
  async refresh(first, revision = Infinity) {
    await Promise.allSettled(this.loading.values()); // they may get rows from before the change
    const loaded = this.segments.filter((s) => s.rows && s.end > first);
    if (!loaded.length) loaded.push(...this.segments.slice(-1).filter((s) => s.rows));
    for (const segment of loaded) {
      if (!segment.rows || segment.revision >= revision) continue;
      const from = Math.max(segment.start, Math.min(first, segment.start + segment.rows.length));
      if (from >= segment.start + segmentSize) continue;
      const answer = await this.view.fetchRows(this.parent, from, segment.start + segmentSize - from);
      this.view.keep(() => {
        this.setTotal(answer.total, answer.revision);
        if (!segment.rows) return; // it was emptied meanwhile
        segment.revision = from > segment.start ? Math.min(answer.revision, revision) : answer.revision;
        segment.merge(from, answer.rows);
      });
    }
  }

  /** Fetches the segments again that are in the document. Of two calls at a time, the second waits. */
  async renew() {
    this.outdated = true;
    if (this.renewing) return;
    this.renewing = true;
    try {
      while (this.outdated) {
        this.outdated = false;
        await this.refresh(0);
      }
    } finally {
      this.renewing = false;
    }
  }

  /** Forgets the revisions: another server counts anew. */
  forget() {
    this.revision = -1;
    for (const segment of this.segments) {
      segment.revision = -1;
      for (const row of segment.rows ?? []) row.below?.forget();
    }
  }

  /**
   * Returns the segment at a height of the window or the first one below, or undefined.
   * @param {number} y
   */
  segmentAt(y) { return this.segments[firstBelow(this.segments, y)]; }

  /**
   * Adds the segments between two heights of the window to those that are near.
   * @param {Set<Segment>} near
   * @param {number} top
   * @param {number} bottom
   */
  collect(near, top, bottom) {
    for (let i = firstBelow(this.segments, top); i < this.segments.length; i++) {
      const segment = this.segments[i];
      if (segment.element.getBoundingClientRect().top >= bottom) break;
      near.add(segment);
      for (const row of segment.rows ?? segment.partial) if (row.open) row.below?.collect(near, top, bottom);
    }
  }

  /**
   * Returns the first row in the document that is at a height of the window or below, and above an end,
   * or null.
   * @param {number} y
   * @param {number} end
   * @returns {Row | null}
   */
  rowAt(y, end) {
    for (let i = firstBelow(this.segments, y); i < this.segments.length; i++) {
      const { partial, element } = this.segments[i];
      const rows = this.segments[i].rows ?? partial;
      if (element.getBoundingClientRect().top >= end) break;
      const row = rows.find((r) => r.isShown && r.element.getBoundingClientRect().bottom > y);
      if (!row || row.element.getBoundingClientRect().top >= end) continue;
      return row.open && row.line.getBoundingClientRect().bottom <= y && row.below?.rowAt(y, end) || row;
    }
    return null;
  }

  /** The first row that is in the document, or null. */
  get first() { return this.segments.find((s) => s.rows?.length)?.rows?.[0] ?? null; }

  /**
   * Returns the row at an index, and loads it if it is not there.
   * @param {number} index
   * @returns {Promise<Row | null>}
   */
  async at(index) {
    if (this.revision < 0) await this.load(0); // the total is not known yet
    if (index < 0 || index >= this.total) return null;
    const number = Math.floor(index / segmentSize);
    await this.load(number);
    return this.segments[number]?.rows?.[index % segmentSize] ?? null;
  }
}

/**
 * Returns the index of the first item, of some that are one below the other, that ends below a height of
 * the window. It asks for few positions: there can be thousands of items, and a hit test is slow.
 * @param {{element: Element}[]} items
 * @param {number} y
 */
function firstBelow(items, y) {
  let from = 0, to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (items[middle].element.getBoundingClientRect().bottom > y) to = middle;
    else from = middle + 1;
  }
  return from;
}

/**
 * Waits until the browser has drawn, or until it is clear that it does not: a hidden page has no frames.
 * @returns {Promise<void>}
 */
function drawn() {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 50);
  });
}

/** Lets the browser take input, and draw if it wants to. @returns {Promise<void>} */
function pause() {
  const { scheduler } = /** @type {any} */ (globalThis);
  return scheduler?.yield ? scheduler.yield() : new Promise((done) => { setTimeout(done); });
}

/** The rows of a session. It loads segments before they come into view, and drops far ones. */
export class RootList extends RowList {
  /** @param {View} view */
  constructor(view) {
    super(view, "", 0);
    /** The segments that are near the view. @type {Set<Segment>} */
    this.near = new Set();
    this.y = scrollY;
    this.time = 0;
    /** Whether there were rows: the first ones come alone, and so at once. */
    this.begun = false;
    /** Whether rows go past faster than anyone reads. */
    this.fast = false;
    this.rested = later(restTime, () => {
      this.fast = false;
      this.look();
    });
    // Thousands of segments would make an IntersectionObserver slow, at each frame.
    this.scrolled = () => {
      this.fast = this.speed() > readable;
      this.look();
    };
    addEventListener("scroll", this.scrolled, { passive: true });
    this.looked = () => this.look();
    addEventListener("resize", this.looked);
    this.resized = new ResizeObserver(this.looked);
    this.resized.observe(this.element);
    this.trimSoon = soon(trimTime, () => this.trim());
    this.bodies = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const row = rowsOf.get(target);
        if (!isIntersecting) continue;
        this.bodies.unobserve(target);
        if (row?.open) row.fetchBody();
      }
    }, { rootMargin: "100% 0px" });
    /** The mean height of a row, of those that were measured. */
    this.rowHeight = guessedHeight;
  }

  /** @param {Row} row */
  observeBody(row) { this.bodies.observe(row.element); }

  /** Returns how fast the page was scrolled since the last call, in heights of the window a second. */
  speed() {
    const { y, time } = this;
    this.y = scrollY;
    this.time = performance.now();
    return Math.abs(this.y - y) / innerHeight / (this.time - time) * 1000;
  }

  /** Loads the segments that are near the view, unless they only fly past, and gives up others. */
  look() {
    if (!this.element.isConnected) return;
    /** @type {Set<Segment>} */
    const near = new Set();
    this.collect(near, -nearby * innerHeight, (1 + nearby) * innerHeight);
    for (const segment of this.near) if (!near.has(segment)) segment.unwanted();
    this.near = near;
    if (this.fast) this.rested();
    else if (this.begun || !this.loading.size) for (const segment of near) segment.wanted();
  }

  /** Loads at once what could not be loaded before. */
  retry() {
    for (const segment of this.near) segment.rest = 0;
    this.look();
  }

  /**
   * Empties the segments that are farthest from the view, if there are too many rows. That is done some
   * time after rows were loaded, since those that one goes to are not near the view before.
   */
  trim() {
    if (!this.element.isConnected) return;
    const loaded = this.segments.filter((s) => s.rows);
    let n = loaded.reduce((sum, s) => sum + s.element.querySelectorAll("article.row").length, 0);
    if (n <= maxLoaded) return;
    const middle = innerHeight / 2;
    const distance = (/** @type {Segment} */ s) => {
      const r = s.element.getBoundingClientRect();
      return Math.max(r.top - middle, middle - r.bottom, 0);
    };
    const far = loaded.filter((s) => !this.near.has(s) && !s.element.contains(document.activeElement) && !s.element.querySelector(".selected"))
      .map((s) => ({ s, d: distance(s) })).sort((a, b) => b.d - a.d);
    this.view.keep(() => {
      for (const { s } of far) {
        if (n <= maxLoaded * 0.7) break;
        n -= s.element.querySelectorAll("article.row").length;
        s.empty();
      }
    });
  }

  close() {
    removeEventListener("scroll", this.scrolled);
    removeEventListener("resize", this.looked);
    this.resized.disconnect();
    this.bodies.disconnect();
    for (const segment of this.near) segment.unwanted();
    this.near.clear();
  }
}

/** Up to segmentSize rows, which are in the document or not. */
export class Segment {
  /**
   * @param {RowList} list
   * @param {number} number
   */
  constructor(list, number) {
    this.list = list;
    this.number = number;
    /** @type {Row[] | null} */
    this.rows = null;
    /** The rows that are in the document while others are made. @type {Row[]} */
    this.partial = [];
    this.height = 0;
    /** The revision of the session that its rows are from. */
    this.revision = -1;
    /** When it may be loaded again after a failure, and how many there were in a row. */
    this.rest = this.failures = 0;
    /** @type {AbortController | null} */
    this.abort = null;
    this.element = h("div.segment");
    list.element.append(this.element);
    this.estimate();
  }

  get loading() { return this.list.loading.has(this.number); }
  get start() { return this.number * segmentSize; }
  get end() { return Math.min(this.start + segmentSize, this.list.total); }

  /** Gives an empty segment its height. */
  estimate() {
    if (this.rows || this.partial.length) return;
    this.element.style.height = `${Math.round(this.height || (this.end - this.start) * this.list.root.rowHeight)}px`;
  }

  /** Loads the segment, unless it is there. */
  wanted() {
    if (this.rows || this.loading || performance.now() < this.rest) return;
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.list.load(this.number, signal).then(() => { this.failures = 0; }, (error) => {
      if (!signal.aborted) this.failed(error);
    }).finally(() => {
      if (signal.aborted && this.list.root.near.has(this)) this.wanted(); // it came back before the load had ended
    });
  }

  /**
   * Tries again in a while. The first failure is told.
   * @param {any} error
   */
  failed(error) {
    this.rest = performance.now() + failureTime;
    setTimeout(this.list.root.looked, failureTime + 1);
    if (this.failures++ === 0) this.list.view.failed(error);
  }

  unwanted() {
    if (this.loading) this.abort?.abort();
    this.abort = null;
  }

  /**
   * Makes the rows, some at a time, so that the browser can draw in between, and does so with the first
   * ones. The segment keeps its height until all are there.
   * @param {{revision: number, rows: RowData[]}} answer
   * @param {AbortSignal} [signal]
   */
  async show({ revision, rows: data }, signal) {
    const { style } = this.element, { height } = style;
    style.minHeight = height;
    style.height = "";
    /** @type {Row[]} */
    const rows = this.partial = [];
    for (let slice = 0; rows.length < data.length; slice++) {
      if (slice > 0) await (slice === 1 ? drawn() : pause());
      if (signal?.aborted || !this.element.isConnected) break;
      this.list.view.keep(() => this.add(rows, data));
    }
    this.list.view.keep(() => {
      style.minHeight = "";
      this.partial = [];
      if (rows.length < data.length) {
        this.element.replaceChildren();
        style.height = height;
        return;
      }
      this.rows = rows;
      this.revision = revision;
      this.measure();
    });
    signal?.throwIfAborted();
  }

  /**
   * Adds rows until there are all, or until it has taken long enough.
   * @param {Row[]} rows
   * @param {RowData[]} data
   */
  add(rows, data) {
    const part = new DocumentFragment();
    for (const end = performance.now() + sliceTime; rows.length < data.length; ) {
      const row = new Row(this.list, this.start + rows.length, data[rows.length]);
      rows.push(row);
      part.append(row.element);
      if (performance.now() > end) break;
    }
    this.element.append(part);
  }

  /** Learns from its rows how high rows are. */
  measure() {
    const { root, depth } = this.list;
    if (!this.rows?.length || depth > 0) return;
    const height = this.element.getBoundingClientRect().height / this.rows.length;
    const guessed = root.rowHeight === guessedHeight;
    root.rowHeight = guessed ? height : root.rowHeight * 0.8 + height * 0.2;
    if (guessed) for (const s of root.segments) s.estimate();
  }

  /**
   * Replaces the rows from an index on. Rows that stay keep their elements.
   * @param {number} from
   * @param {RowData[]} data
   */
  merge(from, data) {
    const rows = /** @type {Row[]} */ (this.rows ?? []);
    const old = new Map(rows.slice(from - this.start).map((r) => [r.id, r]));
    const next = rows.slice(0, from - this.start);
    for (const d of data) {
      let row = old.get(d.id);
      old.delete(d.id);
      if (row) row.update(d);
      else row = new Row(this.list, 0, d);
      row.index = this.start + next.length;
      next.push(row);
    }
    this.rows = next;
    const stay = new Set(next.map((row) => row.element));
    const gone = [...this.element.children].filter((e) => !stay.has(/** @type {HTMLElement} */ (e)));
    let at = this.element.firstElementChild;
    const skip = () => { while (at && gone.includes(at)) at = at.nextElementSibling; };
    for (const { element } of next) { // rows that stay are not moved: they would lose the focus
      skip();
      if (at === element) at = at.nextElementSibling;
      else this.element.insertBefore(element, at);
    }
    for (const element of gone) {
      const row = rowsOf.get(element);
      if (row) moveFocus(row, next);
      element.remove();
    }
    this.element.style.height = "";
  }

  empty() {
    this.height = this.element.getBoundingClientRect().height;
    this.rows = null;
    this.element.replaceChildren();
    this.estimate();
  }

  remove() {
    this.unwanted();
    this.list.root.near.delete(this);
    this.element.remove();
  }
}

/**
 * Gives the focus of a row that goes away to the nearest one that stays.
 * @param {Row} row
 * @param {Row[]} others
 */
function moveFocus(row, others) {
  if (!row.element.contains(document.activeElement)) return;
  const near = others[Math.min(row.index % segmentSize, others.length - 1)];
  near?.element.focus({ preventScroll: true });
}
