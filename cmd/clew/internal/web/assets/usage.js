// @ts-check
// What the sessions cost, and the agents that run now.

import { get } from "./api.js";
import { button, complain, h, inOrder, put, reachScrolling, soon } from "./dom.js";
import { listen } from "./events.js";

const parts = { day: "Day", model: "Model", project: "Project", tool: "Tool", block: "Five hours" };

/**
 * @param {import("./app.js").Context} context
 * @param {string} path
 */
export function show(context, path) {
  return path === "/live" ? new LivePage(context) : new UsagePage(context);
}

class UsagePage {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.context = context;
    this.scope = "panel";
    this.visits = 0;
    this.tabs = h("div.tabs", { role: "group", "aria-label": "Usage by" }, ...Object.entries(parts).map(([name, title]) =>
      button(title, () => this.set("by", name), { "data-by": name })));
    this.since = this.date("since", "From");
    this.until = this.date("until", "To");
    this.content = h("div.usage", { "aria-busy": "true" });
    context.main.replaceChildren(h("div.sheet", {}, h("h1", {}, "Usage"),
      h("div.sticky.controls", {}, this.tabs, h("label", {}, "From ", this.since), h("label", {}, "To ", this.until)), this.content));
    document.body.className = "usage-page";
    context.setTitle("Usage");
    this.changed();
  }

  /**
   * @param {string} name
   * @param {string} label
   */
  date(name, label) {
    return h("input", { type: "date", "aria-label": label, onchange: (/** @type {any} */ e) => this.set(name, e.target.value) });
  }

  /** Takes what the URL says. */
  changed() {
    const query = new URLSearchParams(location.search);
    this.by = query.get("by") ?? "day";
    if (!(this.by in parts)) this.by = "day";
    this.since.value = query.get("since") ?? "";
    this.until.value = query.get("until") ?? "";
    for (const b of this.tabs.children) b.setAttribute("aria-pressed", String(b.dataset.by === this.by));
    this.load();
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  set(name, value) {
    const query = new URLSearchParams(location.search);
    if (value) query.set(name, value);
    else query.delete(name);
    this.context.go(`/usage?${query}`, true);
    this.changed();
  }

  async load() {
    const visit = ++this.visits;
    this.content.setAttribute("aria-busy", "true");
    try {
      const { html } = await get("usage", { by: this.by, since: this.since.value, until: this.until.value });
      if (visit !== this.visits) return;
      put(this.content, html);
      reachScrolling(this.content);
    } catch (error) {
      if (visit === this.visits) this.content.replaceChildren(h("p.error", {}, /** @type {Error} */ (error).message));
      complain(error);
    }
    this.content.setAttribute("aria-busy", "false");
  }

  /** @param {string} action */
  act(action) {
    if (action !== "next-tab" && action !== "previous-tab") return scrollPage(action);
    const names = Object.keys(parts);
    const at = names.indexOf(this.by ?? "day") + (action === "next-tab" ? 1 : -1);
    this.set("by", names[(at + names.length) % names.length]);
    return true;
  }

  close() { this.visits++; }
}

class LivePage {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.scope = "panel";
    this.closed = false;
    this.loads = inOrder();
    this.content = h("div.live", { "aria-busy": "true" });
    context.main.replaceChildren(h("div.sheet", {}, h("h1", {}, "Running agents"), this.content));
    document.body.className = "live-page";
    context.setTitle("Live");
    const again = soon(200, () => this.load());
    this.endListen = listen(({ type }) => {
      if (["running", "list", "reload", "agent", "question", "answered"].includes(type)) again();
    });
    this.load();
  }

  async load() {
    const isNewest = this.loads();
    try {
      const { html } = await get("running");
      if (this.closed || !isNewest()) return;
      const focused = document.activeElement?.getAttribute("href");
      put(this.content, html);
      reachScrolling(this.content);
      if (!this.content.textContent.trim()) this.content.append(h("p.empty", {}, "No agent is running."));
      const again = focused && this.content.querySelector(`a[href="${CSS.escape(focused)}"]`);
      if (again instanceof HTMLElement && document.activeElement === document.body) again.focus({ preventScroll: true });
    } catch (error) {
      if (!this.closed && isNewest()) this.content.replaceChildren(h("p.error", {}, /** @type {Error} */ (error).message));
    }
    this.content.setAttribute("aria-busy", "false");
  }

  /** @param {string} action */
  act(action) {
    const links = [...this.content.querySelectorAll("a[href^='/s/']")];
    if (action !== "down" && action !== "up") return scrollPage(action);
    const at = links.indexOf(document.activeElement) + (action === "down" ? 1 : -1);
    links[Math.max(0, Math.min(at, links.length - 1))]?.focus();
    return true;
  }

  close() {
    this.closed = true;
    this.endListen();
  }
}

/** The part of the window by which an action scrolls. @type {Record<string, number>} */
const scrolls = { down: 0.1, up: -0.1, "half-down": 0.5, "half-up": -0.5, "page-down": 0.9, "page-up": -0.9, top: -1e6, bottom: 1e6 };

/** @param {string} action */
export function scrollPage(action) {
  if (!(action in scrolls)) return false;
  scrollBy({ top: scrolls[action] * innerHeight, behavior: "instant" });
  return true;
}
