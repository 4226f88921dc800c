// @ts-check
// Keys: those of the terminal, as the server has them. Keys that a browser needs itself stay with it:
// an action that has no other key gets one here.

import { h, show } from "./dom.js";

/** @typedef {{scope: string, action: string, keys: string[], text: string}} Binding */

/** The scopes of pages, in the order of the help. @type {Record<string, string>} */
const scopes = { sessions: "Sessions", session: "Session", row: "Row", panel: "Panels", search: "Search" };

/** @type {Binding[]} */
let bindings = [];

/** Keys for actions whose keys the browser has. @type {Record<string, string>} */
const instead = { fold: "z", "fold-all": "Z", search: "s", palette: ":", "next-tab": ">", "previous-tab": "<" };

/** Actions that only a terminal has, or that a browser has itself. */
const foreign = new Set(["suspend", "quit", "repaint", "pager", "browse", "preview-place", "palette", "all-projects", "fork", "jobs"]);

/** @param {string} key */
function isBrowsers(key) {
  return key.startsWith("ctrl+") || key.startsWith("alt+") || key === "tab" || key === "shift+tab";
}

/** @param {Binding[]} list of the server */
export function setKeys(list) {
  bindings = list.filter((b) => !foreign.has(b.action) && b.scope in scopes).map((b) => {
    const keys = b.keys.filter((k) => !isBrowsers(k));
    if (!keys.length && instead[b.action]) keys.push(instead[b.action]);
    return { ...b, keys };
  }).filter((b) => b.keys.length);
}

const names = { ArrowDown: "down", ArrowUp: "up", ArrowLeft: "left", ArrowRight: "right", PageDown: "pgdown", PageUp: "pgup",
  Home: "home", End: "end", Enter: "enter", Escape: "esc", Tab: "tab", " ": "space", Backspace: "backspace", Delete: "delete" };

/**
 * Returns the name of a key as the terminal's table has it, or "" for one that belongs to the browser.
 * @param {KeyboardEvent} e
 */
function keyName(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || e.isComposing) return "";
  const name = /** @type {Record<string, string>} */ (names)[e.key];
  if (!name) return [...e.key].length === 1 ? e.key : "";
  return e.shiftKey ? "shift+" + name : name;
}

/**
 * Returns the action of a key on a screen, or "".
 * @param {string} scope
 * @param {KeyboardEvent} e
 */
export function actionOf(scope, e) {
  const key = keyName(e);
  if (!key) return "";
  const found = bindings.find((b) => b.scope === scope && b.keys.includes(key));
  return found?.action ?? "";
}

/**
 * Reports whether an element takes a key itself.
 * @param {EventTarget | null} target
 * @param {string} key
 */
export function takesKey(target, key) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select")) return true;
  if (target.matches("input")) return !(/** @type {HTMLInputElement} */ (target).type === "checkbox") || key === " ";
  if (target.matches("a[href], summary, button")) return key === "Enter" || key === " ";
  return false;
}

/**
 * Shows the keys, those of the screen first.
 * @param {string} scope
 * @param {(action: string) => void} run
 */
export function showKeys(scope, run) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the keys" });
  const body = h("div.keys");
  const draw = () => {
    const words = filter.value.toLowerCase();
    const known = new Set();
    const parts = [scope, ...Object.keys(scopes).filter((s) => s !== scope)].map((name) => section(name, words, known, name === scope ? act : null));
    body.replaceChildren(...parts.filter((p) => p !== null));
    if (!body.firstChild) body.append(h("p.empty", {}, "No key matches."));
  };
  const act = (/** @type {string} */ action) => { dialog.close(); run(action); };
  filter.addEventListener("input", draw);
  filter.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    const first = body.querySelector("button");
    if (e.key === "Enter" && first) first.click();
    if (e.key === "Escape") dialog.close(); // it would only clear the input
  });
  const dialog = show("Keys", h("div", {}, filter, body));
  draw();
  filter.focus();
}

/**
 * Returns the keys of a screen, without those that others have with the same meaning.
 * @param {string} name
 * @param {string} words
 * @param {Set<string>} known
 * @param {((action: string) => void) | null} run
 */
function section(name, words, known, run) {
  const own = bindings.filter((b) => b.scope === name && !known.has(b.action + b.text));
  for (const b of own) known.add(b.action + b.text);
  const found = own.filter((b) => (b.text + " " + b.keys.join(" ")).toLowerCase().includes(words));
  if (!found.length) return null;
  const rows = found.map((b) => h("tr", {},
    h("td", {}, ...b.keys.flatMap((k) => [h("kbd", {}, k), " "])),
    h("td", {}, run ? h("button.link", { type: "button", onclick: () => run(b.action) }, b.text) : b.text)));
  return h("section", {}, h("h3", {}, scopes[name]), h("table", {}, h("tbody", {}, ...rows)));
}
