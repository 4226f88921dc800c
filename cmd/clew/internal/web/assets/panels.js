// @ts-check
// The panels of a session: what the terminal shows for the same keys.

import { get } from "./api.js";
import { button, complain, fillImages, fragment, h, number, reachScrolling } from "./dom.js";

/** The panels that have a button, by their names in the API. @type {Record<string, string>} */
export const panelNames = { files: "Files", agents: "Agents", context: "Context", usage: "Usage", branches: "Branches" };

/** How many lines of the outline the server gives at a time. */
const outlineSize = 1000;

/** What the outlines show: most changes of a session don't change them. @type {WeakMap<Element, string>} */
const shownOutlines = new WeakMap();

/**
 * Shows the turns of a session: those of a part that can be chosen, if there are many.
 * @param {HTMLElement} element
 * @param {string} api of the session
 * @param {() => boolean} [isOver] whether it is not wanted any more
 */
export async function showOutline(element, api, isOver = () => false) {
  const chosen = () => Number(element.querySelector("select")?.value ?? 0);
  const from = chosen();
  const { html, total } = await get(`${api}/outline`, { from });
  if (isOver() || chosen() !== from) return; // another part was chosen meanwhile
  if (shownOutlines.get(element) === html + total && element.querySelector("ol")) return;
  shownOutlines.set(element, html + total);
  const nodes = [fragment(html)];
  if (total > outlineSize) {
    const parts = Array.from({ length: Math.ceil(total / outlineSize) }, (_, i) => i * outlineSize);
    const choice = h("select", { "aria-label": "Part of the turns" },
      ...parts.map((n) => h("option", { value: n }, `${number(n + 1)} to ${number(Math.min(n + outlineSize, total))} of ${number(total)}`)));
    choice.value = String(from);
    choice.addEventListener("change", () => showOutline(element, api, isOver).catch(complain));
    nodes.unshift(choice);
  }
  const focused = document.activeElement?.matches("select") && element.contains(document.activeElement);
  element.replaceChildren(...nodes);
  if (focused) element.querySelector("select")?.focus();
}

export class Panels {
  /** @param {import("./session.js").SessionPage} page */
  constructor(page) {
    this.page = page;
    this.name = "";
    /** The turn that a panel is about, or "". */
    this.turn = "";
    this.visits = 0;
    this.content = h("div.content", { tabIndex: 0 });
    this.title = h("h2");
    this.element = h("aside.panel", { hidden: true, "data-scope": "panel" },
      h("header", {}, this.title, button("Close", () => this.set(""), { className: "quiet", title: "Close (q)" })), this.content);
    this.element.addEventListener("click", (/** @type {MouseEvent} */ e) => this.clicked(e));
    this.element.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.press(e));
    document.body.append(this.element);
  }

  close() { this.element.remove(); }

  /** @param {string} name */
  toggle(name) { this.set(this.name === name ? "" : name); }

  /**
   * Shows a panel, or none. The URL keeps it.
   * @param {string} name
   * @param {URLSearchParams} [query]
   */
  set(name, query) {
    if (name !== "outline" && !panelNames[name]) name = "";
    /** @type {string} */
    const turn = query?.get("turn") ?? "";
    if (name === this.name && turn === this.turn) return;
    const before = this.name;
    this.name = name;
    this.turn = turn;
    for (const b of this.page.toolbar.querySelectorAll("[data-panel]")) b.setAttribute("aria-pressed", String(b.dataset.panel === name));
    this.keepInURL();
    this.element.hidden = !name;
    document.body.classList.toggle("with-panel", !!name);
    if (!name) {
      if (before) this.page.select(this.page.current());
      return;
    }
    this.load();
  }

  keepInURL() {
    const url = new URL(location.href);
    if (this.name) url.searchParams.set("panel", this.name);
    else url.searchParams.delete("panel");
    if (this.turn) url.searchParams.set("turn", this.turn);
    else url.searchParams.delete("turn");
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  }

  async load() {
    const visit = ++this.visits;
    const title = panelNames[this.name] ?? "Turns";
    this.title.textContent = title;
    this.element.setAttribute("aria-label", title);
    this.content.setAttribute("aria-busy", "true");
    this.content.className = `content ${this.name}${this.name === "outline" ? " turns" : ""}`;
    this.content.replaceChildren(h("p.empty", {}, "…"));
    this.content.focus({ preventScroll: true });
    try {
      if (this.name === "outline") await showOutline(this.content, this.page.api, () => visit !== this.visits);
      else {
        const { html } = await get(`${this.page.api}/${this.name}`, { turn: this.turn });
        if (visit !== this.visits) return;
        const nodes = fragment(html);
        fillImages(nodes, (row, n) => this.page.fetchImage(row, n));
        this.content.replaceChildren(nodes);
      }
      if (visit !== this.visits) return;
      reachScrolling(this.content);
      if (!this.content.textContent.trim()) this.content.append(h("p.empty", {}, "There is nothing here."));
    } catch (error) {
      if (visit === this.visits) this.content.replaceChildren(h("p.error", {}, /** @type {Error} */ (error).message));
    }
    this.content.setAttribute("aria-busy", "false");
  }

  hasFocus() { return !!this.name && this.element.contains(document.activeElement); }

  /**
   * Runs an action of a key that was pressed in the panel.
   * @param {string} action
   */
  act(action) {
    const { content } = this;
    const height = content.clientHeight;
    /** @type {Record<string, () => void>} */
    const actions = {
      down: () => this.move("a[href], summary", 1),
      up: () => this.move("a[href], summary", -1),
      "next-group": () => this.move("summary", 1),
      "previous-group": () => this.move("summary", -1),
      "half-down": () => content.scrollBy(0, height / 2),
      "half-up": () => content.scrollBy(0, -height / 2),
      "page-down": () => content.scrollBy(0, height * 0.9),
      "page-up": () => content.scrollBy(0, -height * 0.9),
      top: () => content.scrollTo(0, 0),
      bottom: () => content.scrollTo(0, content.scrollHeight),
      open: () => { if (document.activeElement instanceof HTMLElement) document.activeElement.click(); },
      "next-tab": () => this.next(1),
      "previous-tab": () => this.next(-1),
      back: () => this.set(""),
    };
    actions[action]?.();
    return action in actions;
  }

  /**
   * Gives the focus to the next element of a kind.
   * @param {string} selector
   * @param {number} direction
   */
  move(selector, direction) {
    const all = [...this.content.querySelectorAll(selector)].filter((e) => e.checkVisibility());
    const active = document.activeElement;
    const isAfter = (/** @type {Element} */ e) => active === this.content || !!(active && active.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
    const next = direction > 0 ? all.find(isAfter) : all.findLast((e) => e !== active && !isAfter(e));
    next?.focus();
  }

  /** @param {number} direction */
  next(direction) {
    const names = Object.keys(panelNames);
    this.set(names[(names.indexOf(this.name) + direction + names.length) % names.length]);
  }

  /** A panel that covers the page closes when one goes to a row. @param {MouseEvent} e */
  clicked(e) {
    const link = /** @type {Element} */ (e.target).closest("a[href^='#row=']");
    if (!link) return;
    e.preventDefault();
    const row = decodeURIComponent(/** @type {string} */ (link.getAttribute("href")).slice("#row=".length));
    if (!matchMedia("(min-width: 100rem)").matches) this.set("");
    history.pushState({ inside: true }, "", `${location.pathname}${location.search}#row=${encodeURIComponent(row)}`);
    this.page.goTo(row).catch((error) => this.page.failed(error));
  }

  /** @param {KeyboardEvent} e */
  press(e) {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.set("");
  }
}
