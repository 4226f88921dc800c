// @ts-check
// Elements, and the one place where text becomes markup.

import { blob } from "./api.js";

/** @typedef {{createHTML(html: string): any}} Policy */

const types = /** @type {any} */ (globalThis).trustedTypes;

// The server escapes everything in the fragments that it sends. Nothing else becomes markup.
/** @type {Policy} */
const policy = types ? types.createPolicy("clew", { createHTML: (/** @type {string} */ html) => html }) : { createHTML: (html) => html };

/**
 * Returns the nodes of a fragment of the server.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(html);
  return template.content;
}

/**
 * Replaces what an element has with a fragment of the server.
 * @param {Element} element
 * @param {string} html
 */
export function put(element, html) {
  element.replaceChildren(fragment(html));
}

/**
 * Returns a new element. Properties that begin with "on" are listeners, those with a dash and "role"
 * are attributes. Children that are null or false are left out.
 * @param {string} name a tag, with classes after dots: "div.row.open"
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | number | null | false | undefined)} children
 * @returns {any}
 */
export function h(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = /** @type {any} */ (document.createElement(tag));
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.includes("-") || key === "role" || key === "for" || key === "list") element.setAttribute(key, String(value));
    else element[key] = value;
  }
  element.append(...children.filter((c) => c != null && c !== false).map((c) => (typeof c === "number" ? String(c) : c)));
  return element;
}

/**
 * Returns a button.
 * @param {string} text
 * @param {() => void} click
 * @param {Record<string, any>} [properties]
 * @returns {HTMLButtonElement}
 */
export function button(text, click, properties = {}) {
  return h("button", { type: "button", onclick: click, ...properties }, text);
}

const polite = h("div.sr", { role: "status", "aria-live": "polite" });
const assertive = h("div.sr", { role: "alert", "aria-live": "assertive" });
const toast = h("div.toast", { hidden: true, "aria-hidden": "true" });
let toastTimer = 0;

/** Puts the live regions into the page. They must be there before they speak. */
export function addLiveRegions() {
  document.body.append(polite, assertive, toast);
}

/**
 * Has a screen reader say something, at once if it is urgent.
 * @param {string} text
 * @param {boolean} [urgent]
 */
export function announce(text, urgent = false) {
  const region = urgent ? assertive : polite;
  // The same text twice is said twice only if the region changes in between.
  region.textContent = region.textContent === text ? text + "\u00a0" : text;
}

/**
 * Shows a short message for a while, and has it read.
 * @param {string} text
 */
export function say(text) {
  announce(text);
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => { toast.hidden = true; }, 4000);
}

/**
 * Shows an error: what happened, and what to do about it.
 * @param {any} error
 */
export function complain(error) {
  if (error?.name === "AbortError") return;
  say(error?.hint ? `${error.message}. ${error.hint}` : String(error?.message ?? error));
}

/**
 * Copies a text, and says what was copied.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}`);
  } catch {
    show(`Copy ${what}`, h("textarea.copy", { value: text, readOnly: true, rows: 6, "aria-label": what }));
  }
}

/**
 * Shows something in a dialog. Escape and a button close it, and the focus goes back.
 * @param {string} title
 * @param {Node} content
 * @param {string} [kind] a class
 * @returns {HTMLDialogElement}
 */
export function show(title, content, kind = "") {
  const dialog = h("dialog", { className: `dialog ${kind}`, "aria-label": title },
    h("header", {}, h("h2", {}, title), button("Close", () => dialog.close(), { className: "quiet" })),
    h("div.content", { tabIndex: 0, role: "region", "aria-label": title }, content));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (/** @type {MouseEvent} */ e) => { if (e.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks for a text, or with no value for a yes. Resolves to null if the user closes the dialog.
 * @param {{title: string, note?: string, yes: string, value?: string, danger?: boolean}} question
 * @returns {Promise<string | null>}
 */
export function ask({ title, note, yes, value, danger }) {
  return new Promise((resolve) => {
    const input = value === undefined ? null : h("input", { type: "text", value, maxLength: 200, "aria-label": title });
    const form = h("form", { method: "dialog" },
      note && h("p", {}, note), input,
      h("div.actions", {}, h("button", { type: "submit", value: "yes", className: danger ? "danger" : "primary" }, yes)));
    const dialog = show(title, form, "small");
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? input?.value ?? "" : null));
    (input ?? form.querySelector("button")).focus();
    input?.select();
  });
}

/**
 * Asks in which form a session is exported, and has the browser keep the file.
 * @param {string} id
 */
export function exportSession(id) {
  const format = h("select", { "aria-label": "Format" },
    ...Object.entries({ html: "A page", markdown: "Markdown", json: "JSON" }).map(([value, text]) => h("option", { value }, text)));
  const redact = h("input", { type: "checkbox", checked: true });
  const save = async () => {
    const file = await blob(`sessions/${encodeURIComponent(id)}/export`, { format: format.value, whole: !redact.checked });
    const link = h("a", { href: URL.createObjectURL(file), download: `clew-${id.slice(0, 8)}.${format.value === "markdown" ? "md" : format.value}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say("Exported");
  };
  const form = h("form", { method: "dialog", onsubmit: () => save().catch(complain) },
    h("p", {}, format), h("p", {}, h("label", {}, redact, " remove keys, passwords, addresses and names of home directories")),
    h("div.actions", {}, h("button", { type: "submit", className: "primary" }, "Export")));
  show("Export the session", form, "small");
  format.focus();
}

/**
 * Fills the images of a fragment, which the server names by row and number, with their bytes.
 * @param {ParentNode} root
 * @param {(row: string, n: string) => Promise<Blob>} load
 */
export function fillImages(root, load) {
  for (const image of root.querySelectorAll("img[data-row]")) {
    const img = /** @type {HTMLImageElement} */ (image);
    const { row = "", n = "0" } = img.dataset;
    load(row, n).then((blob) => {
      const url = URL.createObjectURL(blob);
      img.onload = img.onerror = () => URL.revokeObjectURL(url);
      img.src = url;
    }, (error) => img.replaceWith(h("p.missing", {}, `The image can't be shown: ${error.message}`)));
  }
}

/** How wide a diff is that has two sides, in pixels. */
const twoSides = 800;

/**
 * Shows diffs with the old lines beside the new ones, where there is room for both.
 * @param {ParentNode} root
 */
export function sideBySide(root) {
  for (const diff of root.querySelectorAll(".diff")) {
    const body = diff.querySelector("tbody");
    if (!body || diff.clientWidth < twoSides) continue;
    /** @type {HTMLTableRowElement[]} */
    let old = [], now = [];
    const rows = [];
    const pair = () => {
      for (let i = 0; i < Math.max(old.length, now.length); i++) rows.push(h("tr", {}, ...side(old[i], 0), ...side(now[i], 1)));
      old = [];
      now = [];
    };
    for (const row of [...body.rows]) {
      if (row.matches(".add")) {
        now.push(row);
        continue;
      }
      if (now.length || !row.matches(".del")) pair();
      if (row.matches(".del")) old.push(row);
      else if (row.matches(".gap")) {
        row.cells[3].colSpan = 3;
        rows.push(row);
      }
      else rows.push(h("tr", {}, ...side(row, 0), ...side(row, 1)));
    }
    pair();
    body.replaceChildren(...rows);
    diff.classList.add("beside");
  }
}

/**
 * The cells of a line on one side of a diff: its number, its sign and its text.
 * @param {HTMLTableRowElement | undefined} row
 * @param {number} number which one of its numbers
 */
function side(row, number) {
  if (!row) return [h("td.none", { colSpan: 3 })];
  return [number, 2, 3].map((i) => {
    const cell = /** @type {HTMLElement} */ (row.cells[i].cloneNode(true));
    if (row.className) cell.classList.add(row.className);
    return cell;
  });
}

/**
 * Lets the keyboard reach what scrolls by itself.
 * @param {ParentNode} root
 */
export function reachScrolling(root) {
  for (const e of root.querySelectorAll(".scroll, pre, .in, .out, .diff")) {
    if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) /** @type {HTMLElement} */ (e).tabIndex = 0;
  }
}

/** A number as the server writes it: 23,045. @param {number} n */
export const number = (n) => n.toLocaleString("en-US");

/** A number with its noun, as the server writes it. @param {number} n @param {string} noun */
export const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

/**
 * Returns a function to call before each request for the same thing. It returns another one, to call
 * when the request has ended, which is false if that of a later call has ended before.
 * @returns {() => () => boolean}
 */
export function inOrder() {
  let begun = 0, ended = 0;
  return () => {
    const number = ++begun;
    return () => {
      if (number < ended) return false;
      ended = number;
      return true;
    };
  };
}

/**
 * Returns a function that calls f once the calls to it have stopped for a while.
 * @param {number} ms
 * @param {() => void} f
 */
export function later(ms, f) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = window.setTimeout(f, ms); };
}

/**
 * Returns a function that calls f a while after the first call to it, however many follow.
 * @param {number} ms
 * @param {() => void} f
 */
export function soon(ms, f) {
  let timer = 0;
  return () => { timer ||= window.setTimeout(() => { timer = 0; f(); }, ms); };
}
