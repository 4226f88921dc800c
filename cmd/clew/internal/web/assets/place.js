// @ts-check
// The place in a long page: a row and where it is on the screen. It stays there while rows above it
// are added, unfolded or loaded, which the browser does not do the same way everywhere.

/** How near to the end the page counts as at the end, in pixels. */
const nearEnd = 48;

export class Place {
  /**
   * @param {import("./segment.js").RootList} list
   * @param {() => void} changed called when the page begins or ends to follow the end
   */
  constructor(list, changed) {
    this.list = list;
    this.changed = changed;
    this.following = false;
    this.closed = false;
    /** @type {{element: Element, top: number, part: number} | null} */
    this.anchor = null;
    /** Where the page was scrolled to when the place was noted. */
    this.y = scrollY;
    this.scrolled = () => { if (this.movedByUser()) this.note(true); };
    addEventListener("scroll", this.scrolled, { passive: true });
    // It is called after layout and before painting, so nothing is seen to move.
    this.observer = new ResizeObserver(() => this.restore());
    this.observer.observe(list.element);
  }

  close() {
    this.closed = true;
    removeEventListener("scroll", this.scrolled);
    this.observer.disconnect();
  }

  get root() { return document.documentElement; }

  /** The height of what covers the top of the page. */
  get top() { return document.querySelector(".sticky")?.getBoundingClientRect().bottom ?? 0; }

  atEnd() {
    return scrollY + innerHeight >= this.root.scrollHeight - nearEnd;
  }

  /** Whether the page was scrolled since, and not by us. */
  movedByUser() { return Math.abs(scrollY - this.y) >= 1; }

  /**
   * Scrolls at once.
   * @param {number} dy
   */
  scrollBy(dy) {
    if (this.closed) return; // the window shows another page
    scrollBy({ top: dy, behavior: "instant" });
    this.y = scrollY;
  }

  /**
   * Makes an element the anchor, where it is.
   * @param {Element} element
   */
  hold(element) {
    this.anchor = { element, top: element.getBoundingClientRect().top, part: 0 };
    this.y = scrollY;
  }

  /**
   * Remembers what is at the top of the window.
   * @param {boolean} [byUser] whether the page was scrolled
   */
  note(byUser = false) {
    this.y = scrollY;
    if (byUser) this.setFollowing(this.atEnd() && this.list.total > 0);
    const y = Math.max(this.top, 0) + 8;
    const { element: all } = this.list;
    // A row that is seen must not move, even if rows that are not there yet come first.
    const element = all.getBoundingClientRect().top > y ? all.previousElementSibling
      : this.firstRow()?.element ?? this.list.segmentAt(y)?.element;
    if (!element) return;
    const box = element.getBoundingClientRect();
    // The rows of an empty segment come later: keep the part of it that has gone past.
    const part = element.classList.contains("segment") && box.height ? (y - box.top) / box.height : 0;
    this.anchor = { element, top: part ? y : box.top, part };
  }

  /** Scrolls so that the anchor is where it was. */
  restore() {
    if (this.closed) return;
    if (this.following) return this.scrollTo(this.root.scrollHeight);
    const { anchor } = this;
    if (!anchor?.element.isConnected) return;
    const box = anchor.element.getBoundingClientRect();
    const moved = box.top + anchor.part * box.height - anchor.top;
    if (Math.abs(moved) >= 0.5) this.scrollBy(moved);
  }

  /**
   * Makes a change without moving what is seen.
   * @param {() => void} change
   * @param {Element} [element] what must not move if it is in view, or else the first row in view
   */
  keep(change, element) {
    // The anchor stays until someone scrolls: rows that were just loaded may still get their heights.
    if (element && isInView(element)) this.hold(element);
    else if (this.movedByUser() || !this.anchor?.element.isConnected || !isInView(this.anchor.element)) this.note();
    change();
    this.restore();
    if (!this.anchor?.element.classList.contains("segment")) return;
    const row = this.firstRow(); // the first rows of a segment may be there now, and the rest moves them
    if (row) this.hold(row.element);
  }

  /** @param {boolean} following */
  setFollowing(following) {
    if (following === this.following) return;
    this.following = following;
    this.changed();
  }

  unfollow() {
    this.setFollowing(false);
    this.note();
  }

  /** @param {number} y */
  scrollTo(y) {
    if (this.closed) return;
    scrollTo({ top: y, behavior: "instant" });
    this.y = scrollY;
  }

  /** @param {number} dy */
  scroll(dy) {
    this.scrollBy(dy);
    this.note(true);
  }

  toEnd() {
    this.setFollowing(true);
    this.restore();
  }

  toTop() {
    this.setFollowing(false);
    this.scrollTo(0);
    this.note();
  }

  /**
   * Scrolls to an element, a third from the top.
   * @param {Element} element
   */
  to(element) {
    this.setFollowing(false);
    const top = this.top + (innerHeight - this.top) / 4;
    this.scrollBy(element.getBoundingClientRect().top - top);
    this.hold(element);
  }

  /**
   * Scrolls as little as it must to show a row.
   * @param {Element} element
   * @param {Element} line what must be seen of it at least
   */
  reveal(element, line) {
    const box = element.getBoundingClientRect(), head = line.getBoundingClientRect();
    const top = this.top + 8, bottom = innerHeight - 24 - this.dockHeight();
    const wanted = Math.min(box.height, (bottom - top) * 0.6);
    let dy = 0;
    if (head.top < top) dy = head.top - top;
    else if (box.top + Math.max(wanted, head.height) > bottom) dy = box.top + Math.max(wanted, head.height) - bottom;
    if (dy) this.scrollBy(dy);
    this.setFollowing(this.atEnd());
    this.hold(element);
  }

  /**
   * Scrolls on to a place in a row, if it is not in view.
   * @param {Range} range
   * @param {Element} element
   */
  revealRange(range, element) {
    // A block that scrolls by itself comes first.
    range.startContainer.parentElement?.scrollIntoView({ block: "nearest", behavior: "instant" });
    const box = range.getBoundingClientRect();
    if (box.top < this.top + 8 || box.bottom > innerHeight - 24 - this.dockHeight()) {
      this.scrollBy(box.top - this.top - (innerHeight - this.top) / 3);
    }
    this.hold(element);
  }

  dockHeight() { return document.getElementById("dock")?.offsetHeight ?? 0; }

  /** The first row that is in view. */
  firstRow() { return this.list.rowAt(this.top + 8, innerHeight); }
}

/** @param {Element} element */
function isInView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
