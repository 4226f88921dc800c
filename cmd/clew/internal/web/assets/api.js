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

/** The token that the server has proved to know since the last doubt. @type {{token: string, done: Promise<void>} | null} */
let proof = null;

/** Says that another program may listen where the server was. */
export function doubt() { proof = null; }

/**
 * Has the server prove that it knows the token, which it does not get for it. When a server has ended,
 * any program of the machine can listen at its address: it gets no token and no prompt.
 * @param {AbortSignal | null} [signal] ends the wait, and not the proof, which others may wait for
 * @returns {Promise<void>}
 */
export async function proved(signal) {
  const token = localStorage.getItem(tokenName);
  if (!token) throw new Refusal(401, "This browser is not logged in", "", null);
  if (proof?.token !== token) {
    const mine = proof = { token, done: prove(token) };
    mine.done.catch(() => { if (proof === mine) proof = null; });
  }
  const { done } = proof;
  if (!signal) return done;
  signal.throwIfAborted();
  const ended = new AbortController();
  const aborted = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { signal: ended.signal });
  });
  return Promise.race([done, aborted]).finally(() => ended.abort());
}

/** How long the server may take to prove itself, in milliseconds: every request waits for it. */
const maxProof = 10000;

/** @param {string} token */
async function prove(token) {
  const nonce = [...crypto.getRandomValues(new Uint8Array(43))].map((n) => alphabet[n % 64]).join("");
  const response = await fetch(`${base}proof`, {
    method: "POST", body: JSON.stringify({ nonce }), headers: { "Content-Type": "application/json" }, credentials: "omit", redirect: "error",
    signal: AbortSignal.timeout(maxProof),
  }).catch(() => { throw noAnswer(); });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || typeof answer.proof !== "string") throw new Refusal(0, "Another program answers", "Is clew serve still running?", null);
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", bytes.encode(token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const sum = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes.encode(`clew serve proof ${nonce}`)));
  const text = btoa(String.fromCharCode(...sum)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  if (answer.proof !== text) throw signedOut(token, "The server was started again");
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function noAnswer() { return new Refusal(0, "The server does not answer", "Is clew serve still running?", null); }

/**
 * Drops a token that the server does not know, unless another one has come since.
 * @param {string} token
 * @param {string} message
 */
function signedOut(token, message) {
  if (token === localStorage.getItem(tokenName)) localStorage.removeItem(tokenName);
  if (!hasToken()) signOut();
  return new Refusal(401, message, "", null);
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
  if (path !== "login") await proved(init.signal);
  const sent = headers();
  let response;
  try {
    response = await fetch(base + path + search, { ...init, headers: { ...sent, ...init.headers }, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    doubt();
    throw noAnswer();
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
  if (response.status === 401 && path !== "login") signedOut(sent.Authorization.slice("Bearer ".length), "");
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
