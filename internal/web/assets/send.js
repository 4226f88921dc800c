// @ts-check
// Requests that must count once. Each has an id: the server fulfills the first one with it, and gives
// a repeated one the same response. So a request whose response is lost can simply be sent again.

import { post } from "./api.js";

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
 * Prompts of this tab that the server has not confirmed. They survive a reload of the page, and are
 * sent again with the same id.
 */
export class Outbox {
  /** @param {string} session */
  constructor(session) { this.name = `clew-outbox-${session}`; }

  /** @returns {{id: string, path: string, body: any}[]} */
  get list() {
    try {
      return JSON.parse(sessionStorage.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {{id: string, path: string, body: any}[]} list */
  keep(list) {
    try {
      if (list.length) sessionStorage.setItem(this.name, JSON.stringify(list));
      else sessionStorage.removeItem(this.name);
    } catch { /* images are too long for it: they are sent, but not kept */ }
  }

  /**
   * Sends a prompt.
   * @param {string} path
   * @param {any} body
   * @param {string} [id]
   */
  async send(path, body, id = crypto.randomUUID()) {
    this.keep([...this.list.filter((p) => p.id !== id), { id, path, body }]);
    try {
      const result = await sendOnce(path, body, id);
      this.drop(id);
      return result;
    } catch (error) {
      if (/** @type {any} */ (error).status !== 0) this.drop(id); // otherwise it stays: it may have arrived
      throw error;
    }
  }

  /** @param {string} id */
  drop(id) { this.keep(this.list.filter((p) => p.id !== id)); }
}
