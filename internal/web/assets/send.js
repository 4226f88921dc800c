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
 * @typedef {{id: string, path: string, body: any, start: string, stripped?: boolean}} Unconfirmed
 */

/** The outboxes of this page, by name: not everything fits into the storage. @type {Map<string, Unconfirmed[]>} */
const held = new Map();

/** The ids that are being sent. @type {Set<string>} */
const underWay = new Set();

/** Images of the last prompts, by id, for prompts that are taken back. @type {Map<string, string[]>} */
const pictures = new Map();
const maxPictures = 8;

/** @param {string} id of a prompt @returns {string[]} */
export function imagesOf(id) { return pictures.get(id) ?? []; }

/**
 * Prompts of this tab that the server has not confirmed. They survive a reload of the page, and are
 * sent again with the same id.
 */
export class Outbox {
  /** @param {string} session */
  constructor(session) { this.name = `clew-outbox-${session}`; }

  /** @returns {Unconfirmed[]} */
  get list() {
    const list = held.get(this.name);
    if (list) return list;
    try {
      return JSON.parse(sessionStorage.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** Those that are not being sent now. */
  get left() { return this.list.filter((p) => !underWay.has(p.id)); }

  /** @param {Unconfirmed[]} list */
  keep(list) {
    held.set(this.name, list);
    if (!list.length) sessionStorage.removeItem(this.name);
    else if (!this.store(list)) this.store(list.map((p) => (p.body.images?.length ? { ...p, body: { ...p.body, images: [] }, stripped: true } : p)));
  }

  /** @param {Unconfirmed[]} list @returns {boolean} whether there is room for it */
  store(list) {
    try {
      sessionStorage.setItem(this.name, JSON.stringify(list));
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Sends a prompt.
   * @param {string} path
   * @param {any} body
   * @param {string} [id]
   */
  async send(path, body, id = crypto.randomUUID()) {
    const start = this.list.find((p) => p.id === id)?.start ?? server.start;
    this.keep([...this.list.filter((p) => p.id !== id), { id, path, body, start }]);
    if (body.images?.length) pictures.set(id, body.images);
    if (pictures.size > maxPictures) pictures.delete(/** @type {string} */ (pictures.keys().next().value));
    underWay.add(id);
    try {
      // The id of an agent is known to one start of the server only.
      const result = await sendOnce(path, path === "agents" ? { ...body, start } : body, id);
      this.drop(id);
      return result;
    } catch (error) {
      if (/** @type {any} */ (error).status !== 0) this.drop(id); // otherwise it stays: it may have arrived
      throw error;
    } finally {
      underWay.delete(id);
    }
  }

  /** @param {string} id */
  drop(id) { this.keep(this.list.filter((p) => p.id !== id)); }
}
