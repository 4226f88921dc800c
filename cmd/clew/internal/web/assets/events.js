// @ts-check
// Events of the server. All tabs of a browser share one stream, because a browser opens at most six
// connections to a host: the tab that holds a lock has it, and passes the events on. Hidden tabs have
// none, and look again when they are shown.

import { doubt, hasToken, headers, proved, refusal, server } from "./api.js";

/** @typedef {{type: string, data: any}} ServerEvent */

const lockName = "clew-events";

/** Sessions of a stream, as the server allows. */
const maxWatched = 32;

/** How long a stream may be silent, in milliseconds. There is a heartbeat every 15 seconds. */
const maxSilence = 45000;
const silent = "the stream is silent";

const channel = new BroadcastChannel("clew-events");
const me = crypto.randomUUID();

/** @type {Set<(event: ServerEvent) => void>} */
const listeners = new Set();

/** What each visible tab watches. @type {Map<string, string[]>} */
const watched = new Map();

let lastID = "";
/** Ends the stream, or the wait for the lock. @type {AbortController | null} */
let turn = null;
/** Ends the request of the stream; another one follows. @type {AbortController | null} */
let request = null;
/** Whether the stream of this tab is open; null if it has none. @type {boolean | null} */
let open = null;
/** Gives the lock back, at once: a page that is put aside runs no more. */
let release = () => {};

/**
 * Calls f for each event. "reload" means that some were missed.
 * @param {(event: ServerEvent) => void} f
 * @returns {() => void} ends it
 */
export function listen(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

/**
 * Says which sessions this tab shows.
 * @param {string[]} sessions
 */
export function watch(sessions) {
  watched.set(me, sessions);
  tellOthers();
  watchesChanged();
}

/** Begins to listen. Called once, with a token. */
export function connect() {
  channel.onmessage = ({ data }) => received(data);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : enter()));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (e) => { if (e.persisted) enter(); });
  if (!document.hidden) enter();
}

function enter() {
  if (turn) return;
  const missed = lastID !== "";
  if (missed) doubt(); // of what was proved while nobody listened
  turn = new AbortController();
  tellOthers();
  channel.postMessage({ kind: "who", tab: me });
  lead(turn.signal);
  if (missed) deliver({ type: "reload", data: {} });
}

function leave() {
  doubt(); // nobody notices any more whether the server ends
  turn?.abort();
  turn = null;
  open = null;
  release();
  channel.postMessage({ kind: "gone", tab: me });
}

/** @param {AbortSignal} signal */
function lead(signal) {
  if (!navigator.locks) { // not a secure context: a stream for each tab
    stream(signal);
    return;
  }
  const hold = () => new Promise((resolve) => {
    release = () => resolve(undefined);
    stream(signal).finally(release);
  });
  navigator.locks.request(lockName, { signal }, hold).catch((error) => {
    if (error.name !== "AbortError") console.error(error);
  });
}

function tellOthers() {
  if (turn) channel.postMessage({ kind: "watch", tab: me, sessions: watched.get(me) ?? [] });
}

/** @param {any} message */
function received(message) {
  switch (message.kind) {
    case "who":
      tellOthers();
      break;
    case "watch":
      watched.set(message.tab, message.sessions);
      watchesChanged();
      break;
    case "gone":
      watched.delete(message.tab);
      watchesChanged();
      break;
    case "event":
      if (message.id) seen(message.id);
      if (turn && message.event.type) deliver(message.event);
      break;
  }
}

/** @param {string} id of an event, which begins with that of the start of the server */
function seen(id) {
  lastID = id;
  server.start = id.split(".")[0];
}

/** @param {ServerEvent} event */
function deliver(event) {
  if (event.type === "disconnected") doubt();
  for (const f of [...listeners]) f(event);
}

let asked = "";

/** The sessions that any tab shows, in the form of the request. */
function union() {
  const all = new Set([...watched.values()].flat());
  return [...all].sort().slice(0, maxWatched).join(",");
}

function watchesChanged() {
  if (request && union() !== asked) request.abort();
}

/**
 * Holds the stream until the signal. Each failure doubles the pause before the next attempt.
 * @param {AbortSignal} signal
 */
async function stream(signal) {
  let pause = 250;
  while (!signal.aborted) {
    request = new AbortController();
    const stop = () => request?.abort();
    signal.addEventListener("abort", stop);
    try {
      await read(request, () => { pause = 250; });
    } catch (error) {
      if (/** @type {any} */ (error)?.status === 401 && !hasToken()) return;
      if (!request.signal.aborted || request.signal.reason === silent) {
        setOpen(false);
        await sleep(pause * (0.75 + Math.random() / 2), signal);
        pause = Math.min(2 * pause, 15000);
      }
    } finally {
      signal.removeEventListener("abort", stop);
      request = null;
    }
  }
}

/** @param {boolean} is */
function setOpen(is) {
  if (open === is) return;
  open = is;
  const event = { type: is ? "connected" : "disconnected", data: {} };
  deliver(event);
  channel.postMessage({ kind: "event", event });
}

/**
 * Reads one response, to its end.
 * @param {AbortController} control
 * @param {() => void} began
 */
async function read(control, began) {
  let timer = 0;
  const alive = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => control.abort(silent), maxSilence);
  };
  alive();
  try {
    await readAll(control.signal, began, alive);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {AbortSignal} signal
 * @param {() => void} began
 * @param {() => void} alive called when something has come
 */
async function readAll(signal, began, alive) {
  asked = union();
  const query = asked ? `?watch=${encodeURIComponent(asked)}` : "";
  await proved(signal);
  const sent = headers();
  const response = await fetch(`/api/v1/events${query}`, {
    headers: { ...sent, Accept: "text/event-stream", ...(lastID ? { "Last-Event-ID": lastID } : {}) },
    signal, credentials: "omit", redirect: "error", cache: "no-store",
  }).catch((error) => { if (!signal.aborted) doubt(); throw error; });
  if (!response.ok || !response.body) throw await refusal(response, "events", sent);
  began();
  setOpen(true);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = parser(pass);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the stream has ended");
    alive();
    parse(value);
  }
}

/**
 * Passes an event to this tab and the others. One without a type has only an id to resume from.
 * @param {string} id
 * @param {ServerEvent} event
 */
function pass(id, event) {
  if (id) seen(id);
  channel.postMessage({ kind: "event", id, event });
  if (event.type) deliver(event);
}

/**
 * Returns a function that takes the text of a stream in pieces of any size.
 * @param {(id: string, event: ServerEvent) => void} emit
 */
export function parser(emit) {
  let rest = "", id = "", type = "", data = "";
  const line = (/** @type {string} */ text) => {
    if (text === "") {
      if (type || data || id) emit(id, { type, data: data ? JSON.parse(data) : {} });
      id = type = data = "";
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return; // a heartbeat
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + (text[colon + 1] === " " ? 2 : 1));
    if (name === "id") id = value;
    else if (name === "event") type = value;
    else if (name === "data") data += data ? "\n" + value : value;
  };
  return (/** @type {string} */ piece) => {
    const lines = (rest + piece).split("\n");
    rest = /** @type {string} */ (lines.pop());
    for (const text of lines) line(text.endsWith("\r") ? text.slice(0, -1) : text);
  };
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(undefined); }, { once: true });
  });
}
