// @ts-check
// Requests that must count once. Each has an id: the server fulfills the first one with it, and gives
// a repeated one the same response. So a request whose response is lost can simply be sent again.

import { post, server } from "./api.js";

/** Pauses before a request is sent again, in milliseconds. */
const pauses = [300, 1000, 3000, 8000];

/**
 * Sends a request until the server has answered it.
 * @param {string} path
 * @param {any} body
 * @param {string} [id] of the request, for one that was sent before
 * @param {() => boolean} [goesOn] called before it is sent again
 * @returns {Promise<any>}
 */
export async function sendOnce(path, body, id = crypto.randomUUID(), goesOn = () => true) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await post(path, { id, ...body });
    } catch (error) {
      if (/** @type {any} */ (error).status !== 0 || attempt >= pauses.length || !goesOn()) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauses[attempt]));
      if (!goesOn()) throw error;
    }
  }
}

/**
 * A prompt that the server has not confirmed. Its id counts for one start of the server. One that is
 * stripped has lost its images.
 * @typedef {{id: string, path: string, body: any, start: string, at: number, stripped?: boolean}} Unconfirmed
 */

/** The prompts of this page, by their names in the storage: not everything fits into that. @type {Map<string, Unconfirmed>} */
const held = new Map();

/** How long a prompt is sent again without a question, in milliseconds. Later, nobody expects that. */
const maxAge = 5 * 60 * 1000;

/** @param {Unconfirmed} p */
export const isOld = (p) => Date.now() - p.at > maxAge;

/** Images of the last prompts, by id, for prompts that are taken back. @type {Map<string, string[]>} */
const pictures = new Map();
const maxPictures = 8;

/** @param {string} id of a prompt @returns {string[]} */
export function imagesOf(id) { return pictures.get(id) ?? []; }

/**
 * Reports whether it is not known what became of a request: there was no response, or none before the
 * browser is logged in again.
 * @param {any} error
 */
export const isOpen = (error) => error?.status === 0 || error?.status === 401;

/** The status of a request that was fulfilled before, and whose result is not known any more. */
const fulfilled = 422;

/**
 * Prompts of this browser that the server has not confirmed. They outlive the page and its tab, and
 * are sent again with the same id.
 */
class Outbox {
  /** The end of the last sending: there is one at a time. @type {Promise<any>} */
  last = Promise.resolve();

  /** The ids that are sent for the first time now. They are likely to be confirmed at once. @type {Set<string>} */
  fresh = new Set();

  /**
   * Called when a prompt is confirmed or refused, or can't be sent now. A prompt that was confirmed
   * may have no result.
   * @type {(p: Unconfirmed, error: any, result: any) => any}
   */
  settled = () => {};

  /** Called when there is something else to show. */
  changed = () => {};

  /** Whether a prompt is to be sent. @type {(p: Unconfirmed) => boolean} */
  sends = () => true;

  /** @param {string} session */
  constructor(session) { this.prefix = `clew-outbox-${session}-`; }

  /** All of them, in order. @returns {Unconfirmed[]} */
  get all() {
    const names = new Set([...held.keys(), ...Object.keys(localStorage)].filter((name) => name.startsWith(this.prefix)));
    // The name of another session may begin with that of this one.
    return [...names].map((name) => held.get(name) ?? stored(name)).filter((p) => p && names.has(this.prefix + p.id)).sort((a, b) => a.at - b.at);
  }

  /** Those to show. Other tabs show what they are sending. */
  get stuck() { return this.all.filter((p) => isOld(p) || this.holds(p.id) && !this.fresh.has(p.id)); }

  /** @param {string} id @returns {boolean} whether this page has the prompt, and not only the storage */
  holds(id) { return held.has(this.prefix + id); }

  /**
   * @param {Unconfirmed} p
   * @returns {boolean} whether there was room for its text
   */
  keep(p) {
    const name = this.prefix + p.id;
    held.set(name, p);
    return store(name, JSON.stringify(p)) || store(name, JSON.stringify({ ...p, body: { ...p.body, images: [] }, stripped: true }));
  }

  /**
   * Sends a prompt, after those that are not confirmed.
   * @param {string} path
   * @param {any} body
   */
  send(path, body) {
    /** @type {Unconfirmed} */
    const p = { id: crypto.randomUUID(), path, body, start: server.start, at: Date.now() };
    if (!this.keep(p)) {
      this.drop(p.id);
      this.settled(p, new Error("The prompt was not sent: this browser has no room to keep it until it is confirmed. Take others back."), null);
      return this.last;
    }
    this.fresh.add(p.id);
    return this.sendAgain();
  }

  /**
   * Sends the prompt again that the user has asked for.
   * @param {Unconfirmed} p
   */
  renew(p) {
    this.keep({ ...p, at: Date.now() });
    return this.sendAgain();
  }

  /** Sends those that are not confirmed, one after the other, unless they are old. */
  sendAgain() {
    this.last = this.last.then(() => this.sendAll());
    return this.last;
  }

  /** A prompt does not overtake one of which it is not known whether it has arrived. */
  async sendAll() {
    for (let open = false, p; !open && (p = this.all.find((q) => !isOld(q) && this.sends(q))); ) {
      let result = null, failure = null;
      try {
        result = await this.sendOne(p);
      } catch (error) {
        failure = error;
      }
      open = isOpen(failure);
      const wanted = this.holds(p.id); // otherwise it was taken back, or an event has confirmed it
      if (!open) this.drop(p.id); // otherwise it stays: it may have arrived
      if (open) this.fresh.clear();
      if (wanted || !failure) await this.settled(p, failure, result);
    }
  }

  /** @param {Unconfirmed} p */
  async sendOne(p) {
    const { id, path, body, start } = p;
    this.keep(p);
    if (p.stripped) throw new Error("The prompt may have been sent. Its images have to be added again.");
    if (body.images?.length) pictures.set(id, body.images);
    if (pictures.size > maxPictures) pictures.delete(/** @type {string} */ (pictures.keys().next().value));
    const goesOn = () => {
      if (this.fresh.delete(id)) this.changed();
      return this.holds(id);
    };
    try {
      // The id of an agent is known to one start of the server only.
      return await sendOnce(path, path === "agents" ? { ...body, start } : body, id, goesOn);
    } catch (error) {
      if (/** @type {any} */ (error).status !== fulfilled) throw error;
      return null;
    }
  }

  /** @param {string} id */
  drop(id) {
    held.delete(this.prefix + id);
    this.fresh.delete(id);
    localStorage.removeItem(this.prefix + id);
  }
}

/** @type {Map<string, Outbox>} */
const outboxes = new Map();

/**
 * Returns the outbox of a session, which goes on sending when its page is left.
 * @param {string} session
 */
export function outboxOf(session) {
  const outbox = outboxes.get(session) ?? new Outbox(session);
  outboxes.set(session, outbox);
  return outbox;
}

/** @param {string} name @returns {any} */
function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Keeps a text for the next page, unless there is no room.
 * @param {string} name
 * @param {string} text
 * @returns {boolean} whether there was room
 */
export function store(name, text) {
  try {
    if (text) localStorage.setItem(name, text);
    else localStorage.removeItem(name);
    return true;
  } catch {
    return false;
  }
}
