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
 * @returns {Promise<any>}
 */
export async function sendOnce(path, body, id = crypto.randomUUID()) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await post(path, { id, ...body });
    } catch (error) {
      if (/** @type {any} */ (error).status !== 0 || attempt >= pauses.length) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauses[attempt]));
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

/** The ids that are being sent. @type {Set<string>} */
const underWay = new Set();

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

/**
 * Prompts of this browser that the server has not confirmed. They outlive the page and its tab, and
 * are sent again with the same id.
 */
export class Outbox {
  /** @param {string} session */
  constructor(session) { this.prefix = `clew-outbox-${session}-`; }

  /** Those that are not being sent from here now, in order. @returns {Unconfirmed[]} */
  get left() {
    const names = new Set([...held.keys(), ...Object.keys(localStorage)].filter((name) => name.startsWith(this.prefix)));
    return [...names].map((name) => held.get(name) ?? JSON.parse(localStorage.getItem(name) ?? "{}"))
      .filter((p) => !underWay.has(p.id)).sort((a, b) => a.at - b.at);
  }

  /** @param {Unconfirmed} p */
  keep(p) {
    const name = this.prefix + p.id;
    held.set(name, p);
    if (!store(name, JSON.stringify(p))) store(name, JSON.stringify({ ...p, body: { ...p.body, images: [] }, stripped: true }));
  }

  /**
   * Sends a prompt.
   * @param {string} path
   * @param {any} body
   * @param {Unconfirmed} [p] if it was sent before
   */
  async send(path, body, p = { id: crypto.randomUUID(), path, body, start: server.start, at: Date.now() }) {
    const { id, start } = p;
    this.keep(p);
    if (body.images?.length) pictures.set(id, body.images);
    if (pictures.size > maxPictures) pictures.delete(/** @type {string} */ (pictures.keys().next().value));
    underWay.add(id);
    try {
      // The id of an agent is known to one start of the server only.
      const result = await sendOnce(path, path === "agents" ? { ...body, start } : body, id);
      this.drop(id);
      return result;
    } catch (error) {
      if (!isOpen(error)) this.drop(id); // otherwise it stays: it may have arrived
      throw error;
    } finally {
      underWay.delete(id);
    }
  }

  /**
   * Sends those again that are left, one after the other.
   * @param {(p: Unconfirmed, error: any, result?: any) => void} done
   */
  async sendAgain(done) {
    for (const p of this.left) {
      if (!this.left.some((other) => other.id === p.id)) continue; // it was sent since
      try {
        if (p.stripped) {
          this.drop(p.id);
          throw new Error("The prompt may have been sent. Its images have to be added again.");
        }
        done(p, null, await this.send(p.path, p.body, p));
      } catch (error) {
        done(p, error);
      }
    }
  }

  /** @param {string} id */
  drop(id) {
    held.delete(this.prefix + id);
    localStorage.removeItem(this.prefix + id);
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
