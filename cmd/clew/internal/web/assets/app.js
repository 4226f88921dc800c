// @ts-check
// The shell: login, the pages by their URLs, and the keys.

import { get, hasToken, login, onSignOut, server } from "./api.js";
import { addLiveRegions, announce, button, complain, h, say } from "./dom.js";
import { connect, listen, watch } from "./events.js";
import { actionOf, setKeys, showKeys, takesKey } from "./keys.js";

/**
 * A page that is shown.
 * @typedef {{scope: string, act(action: string): boolean | void, close(): void, changed?(): void}} Page
 */

/**
 * What a page gets.
 * @typedef {{main: HTMLElement, me: any, go(url: string, replace?: boolean): void, setTitle(title: string): void}} Context
 */

/** @type {any} */
let me = null;
/** @type {Page | null} */
let page = null;
let pagePath = "";
/** What the page that is shown got. @type {Context | null} */
let shown = null;
/** Counts pages, so that one that loads slowly does not replace its successor. */
let visits = 0;

const main = h("main", { id: "main", tabIndex: -1 });

const pages = [
  { path: "/", name: "Sessions", load: () => import("./list.js") },
  { path: "/live", name: "Live", load: () => import("./usage.js") },
  { path: "/jobs", name: "Jobs", load: () => import("./jobs.js") },
  { path: "/search", name: "Search", load: () => import("./search.js") },
  { path: "/usage", name: "Usage", load: () => import("./usage.js") },
];

async function start() {
  addLiveRegions();
  onSignOut(() => askForCode(me && "The server was started again, or its token was replaced. Agents end with their server. What you have typed is kept."));
  try {
    await login();
  } catch (error) {
    if (!hasToken()) { // otherwise the link was used before, and the browser is logged in
      askForCode(/** @type {Error} */ (error).message);
      return;
    }
  }
  if (!hasToken()) {
    askForCode();
    return;
  }
  try {
    me = await get("me");
  } catch (error) {
    if (/** @type {any} */ (error).status !== 401) fail(error);
    return;
  }
  server.start = me.start;
  setKeys(me.keys ?? []);
  draw();
  connect();
  listen(announceEvent);
  await visit();
  (window.requestIdleCallback ?? setTimeout)(() => moduleOf("/s/").catch(() => {})); // most visits lead to a session
}

function draw() {
  const links = pages.filter((p) => p.path !== "/jobs" || me.fleet).map((p) => h("a", { href: p.path }, p.name));
  const nav = h("nav", { "aria-label": "Pages" }, ...links);
  const state = h("span.connection", { hidden: true, role: "status" }, "not connected");
  listen((event) => {
    if (event.type === "disconnected") state.hidden = false;
    if (event.type === "connected") state.hidden = true;
  });
  const bar = h("header.bar", {},
    h("a.skip", { href: "#main", onclick: skip }, "Skip to the page"),
    h("a.brand", { href: "/" }, "clew"), nav, state,
    me.drive && h("span.drive", { title: "This server was started with --drive: pages can run agents" }, "drive"),
    themeButton(),
    button("?", help, { className: "quiet help", "aria-label": "Keys", title: "Keys (?)" }));
  document.body.prepend(bar, main);
}

/** What the style shows, in the order of the button. @type {Record<string, {text: string, media: string}>} */
const themes = {
  auto: { text: "as the system", media: "(prefers-color-scheme: dark)" }, light: { text: "light", media: "not all" }, dark: { text: "dark", media: "all" },
};
const themeName = "clew-theme";
/** The rules for dark screens. @type {CSSMediaRule[]} */
let darkRules = [];

function theme() { return localStorage.getItem(themeName) ?? "auto"; }

/** Shows pages in the theme that was chosen last. */
function applyTheme() {
  if (!darkRules.length) {
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    darkRules = rules.filter((r) => r instanceof CSSMediaRule && r.media.mediaText === themes.auto.media).map((r) => /** @type {CSSMediaRule} */ (r));
  }
  for (const rule of darkRules) rule.media.mediaText = (themes[theme()] ?? themes.auto).media;
  document.documentElement.style.colorScheme = theme() === "auto" ? "" : theme();
}

function themeButton() {
  const names = Object.keys(themes);
  const change = () => {
    localStorage.setItem(themeName, names[(names.indexOf(theme()) + 1) % names.length]);
    applyTheme();
    b.title = `Colors: ${themes[theme()].text}`;
    say(b.title);
  };
  const b = button("◐", change, { className: "quiet theme", "aria-label": "Change the colors", title: `Colors: ${(themes[theme()] ?? themes.auto).text}` });
  return b;
}

addEventListener("storage", (e) => { if (e.key === themeName) applyTheme(); });
applyTheme();

/** @param {Event} e */
function skip(e) {
  e.preventDefault();
  main.focus();
}

function help() {
  showKeys(page?.scope ?? "sessions", act);
}

/** Shows the page of the URL. */
async function visit() {
  const number = ++visits;
  if (page && pagePath === location.pathname && page.changed) {
    page.changed();
    return;
  }
  page?.close();
  page = null;
  shown = null;
  pagePath = location.pathname;
  watch([]);
  mark();
  main.replaceChildren();
  document.body.className = "";
  try {
    const module = await moduleOf(location.pathname);
    if (number !== visits) return;
    page = module.show(context(), location.pathname);
  } catch (error) {
    fail(error);
  }
}

/**
 * @param {string} path
 * @returns {Promise<{show(context: Context, path: string): Page}>}
 */
function moduleOf(path) {
  if (path.startsWith("/s/")) return import("./session.js");
  if (path.startsWith("/jobs/")) path = "/jobs";
  const found = pages.find((p) => p.path === path) ?? pages[0];
  return found.load();
}

/** Returns the context of the next page. A page that was left, whose timers may still run, can't go anywhere. */
function context() {
  const own = {
    main, me,
    go: (/** @type {string} */ url, /** @type {boolean} */ replace = false) => { if (shown === own) go(url, replace); },
    setTitle: (/** @type {string} */ title) => { if (shown === own) document.title = title ? `${title} – clew` : "clew"; },
  };
  shown = own;
  return own;
}

/** Marks the link of the page that is shown. */
function mark() {
  for (const link of document.querySelectorAll(".bar nav a")) {
    const path = link.getAttribute("href");
    if (path === location.pathname || location.pathname.startsWith(path === "/" ? "/s/" : `${path}/`)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/**
 * Goes to a page of ours.
 * @param {string} url
 * @param {boolean} [replace]
 */
function go(url, replace = false) {
  const before = location.pathname;
  if (replace) history.replaceState(history.state, "", url);
  else history.pushState({ inside: true }, "", url);
  if (!replace || before !== location.pathname) visit();
  if (before !== location.pathname) {
    scrollTo({ top: 0, behavior: "instant" });
    main.focus({ preventScroll: true });
  }
}

/** @param {string} action */
function act(action) {
  if (action === "help" || action === "palette") return help();
  if (action === "search") return go("/search");
  if (page?.act(action) === true) return;
  if (action === "back") back();
}

function back() {
  if (location.pathname === "/") return;
  if (history.state?.inside) history.back();
  else go("/");
}

/** @param {any} event */
function announceEvent(event) {
  if (event.type === "turn" && event.data.text) announce(`The agent has answered: ${event.data.text}`);
  if (event.type === "question") announce("The agent asks a question", true);
}

/** @param {any} [reason] why a code did not work */
function askForCode(reason) {
  page?.close();
  page = null;
  shown = null;
  document.title = "Log in – clew";
  document.body.querySelector(".bar")?.remove();
  if (!main.isConnected) document.body.prepend(main);
  main.replaceChildren(h("section.login", {},
    h("p.kicker", {}, "clew serve"),
    h("h1", {}, "This browser is not logged in"),
    typeof reason === "string" && h("p.error", {}, reason),
    h("p", {}, "Open the address that ", h("code", {}, "clew serve"), " has printed. It has a code that works once, for two minutes."),
    h("p", {}, "If it is too old, run this for a new one:"),
    h("pre", {}, h("code", {}, "clew serve --link"))));
}

/** @param {any} error */
function fail(error) {
  complain(error);
  if (!main.isConnected) document.body.prepend(main);
  main.replaceChildren(h("section.login", {}, h("h1", {}, "The page can't be shown"),
    h("p.error", {}, String(error?.message ?? error)), error?.hint && h("p", {}, error.hint),
    button("Try again", () => location.reload(), { className: "primary" })));
}

/** @param {MouseEvent} e */
function followLink(e) {
  if (e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
  const link = /** @type {Element} */ (e.target).closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.target || link.download) return;
  if (link.pathname.startsWith("/assets/") || link.pathname.startsWith("/api/")) return;
  e.preventDefault();
  go(link.pathname + link.search + link.hash);
}

/** @param {KeyboardEvent} e */
function press(e) {
  if (e.defaultPrevented || !page || document.querySelector("dialog[open]") || takesKey(e.target, e.key)) return;
  const inside = /** @type {HTMLElement} */ (e.target).closest?.("[data-scope]");
  const action = actionOf(inside instanceof HTMLElement ? inside.dataset.scope ?? page.scope : page.scope, e);
  if (!action) return;
  e.preventDefault();
  act(action);
}

addEventListener("popstate", visit);
addEventListener("storage", (e) => { if (e.key === "clew-token" && e.newValue && !page) location.reload(); }); // another tab was logged in
document.addEventListener("click", followLink);
document.addEventListener("keydown", press);
addEventListener("unhandledrejection", (e) => { if (e.reason?.name !== "AbortError") say(String(e.reason?.message ?? e.reason)); });
start();
