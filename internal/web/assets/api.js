// @ts-check
// Requests to the server, with the token of the browser.

const base = "/api/v1/";
const tokenName = "clew-token";

/** What is known of the server: an id of its start. */
export const server = { start: "" };

/** An error that the server has answered with. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {string} hint what to do about it
   * @param {any} body
   */
  constructor(status, message, hint, body) {
    super(message);
    this.status = status;
    this.hint = hint;
    this.body = body;
  }
}

/** Called when the server does not know the token. */
let signOut = () => {};

/** @param {() => void} f */
export function onSignOut(f) { signOut = f; }

export function hasToken() { return !!localStorage.getItem(tokenName); }

/** The headers that a request needs. */
export function headers() {
  return { Authorization: `Bearer ${localStorage.getItem(tokenName) ?? ""}` };
}

/**
 * Takes the code from the URL, which nobody should see or bookmark, and exchanges it for a token.
 * @returns {Promise<boolean>} whether there was a code
 */
export async function login() {
  const code = location.hash.slice(1);
  if (!code || code.includes("=")) return false; // #row=… is a place in a session
  history.replaceState(history.state, "", location.pathname + location.search);
  const { token } = await post("login", { code });
  localStorage.setItem(tokenName, token);
  return true;
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} [query] without those that are empty or false
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
async function request(path, query = {}, init = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== false) parameters.set(name, value === true ? "1" : String(value));
  }
  const search = parameters.size ? `?${parameters}` : "";
  const sent = headers();
  let response;
  try {
    response = await fetch(base + path + search, { ...init, headers: { ...sent, ...init.headers }, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer", "Is clew serve still running?", null);
  }
  if (response.ok) return response;
  throw await refusal(response, path, sent);
}

/**
 * @param {Response} response
 * @param {string} path
 * @param {{Authorization: string}} sent what the request had
 */
export async function refusal(response, path, sent) {
  const body = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "login") {
    if (sent.Authorization === headers().Authorization) localStorage.removeItem(tokenName); // not one that came since
    if (!hasToken()) signOut();
  }
  return new Refusal(response.status, body.error ?? `The server answered ${response.status}`, body.hint ?? "", body);
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  return (await request(path, query, { signal })).json();
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} [query]
 * @returns {Promise<string>}
 */
export async function text(path, query) {
  return (await request(path, query)).text();
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} [query]
 * @returns {Promise<Blob>}
 */
export async function blob(path, query) {
  return (await request(path, query)).blob();
}

/**
 * @param {string} path
 * @param {any} [body]
 * @returns {Promise<any>}
 */
export async function post(path, body = {}) {
  const response = await request(path, {}, {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  });
  return response.status === 204 ? {} : response.json();
}
