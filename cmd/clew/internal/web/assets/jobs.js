// @ts-check
// The jobs of a fleet: their list, and the page of one.

import { get, post } from "./api.js";
import { announce, ask, button, complain, copy, fragment, h, inOrder, later, number, put, reachScrolling, say, soon } from "./dom.js";
import { listen } from "./events.js";
import { Questions } from "./question.js";
import { scrollPage } from "./usage.js";

/** How often ages are drawn again, in milliseconds. */
const ageInterval = 60000;

/**
 * @param {import("./app.js").Context} context
 * @param {string} path
 */
export function show(context, path) {
  return path === "/jobs" ? new JobsPage(context) : new JobPage(context, path.slice("/jobs/".length));
}

/** What both pages have: they load again when jobs have changed, and say what is worth it. */
class LivePage {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.context = context;
    this.scope = "search";
    this.visits = 0;
    this.content = h("div.live", { "aria-busy": "true" });
    document.body.className = "jobs-page";
    const again = soon(200, () => this.load());
    this.timer = setInterval(again, ageInterval);
    this.endListen = listen(({ type, data }) => {
      if (type === "jobs" || type === "reload") again();
      if (type === "jobs" && data.text) announce(data.text, data.urgent);
    });
  }

  /** @returns {Promise<any>} */
  fetch() { return Promise.resolve(); }

  /** @param {any} answer */
  take(answer) { this.fill(answer.html); }

  async load() {
    const visit = ++this.visits;
    try {
      const answer = await this.fetch();
      if (visit === this.visits) this.take(answer);
    } catch (error) {
      if (visit === this.visits) this.content.replaceChildren(h("p.error", {}, /** @type {Error} */ (error).message));
    }
    if (visit === this.visits) this.content.setAttribute("aria-busy", "false");
  }

  /**
   * Shows a fragment. The focus stays at the link where it was.
   * @param {string} html
   */
  fill(html) {
    const focused = this.content.contains(document.activeElement) && document.activeElement?.getAttribute("href");
    put(this.content, html);
    reachScrolling(this.content);
    const again = focused && this.content.querySelector(`a[href="${CSS.escape(focused)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  /** @param {string} action */
  act(action) { return scrollPage(action); }

  close() {
    this.visits++;
    this.endListen();
    clearInterval(this.timer);
  }
}

class JobsPage extends LivePage {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    super(context);
    this.input = h("input", { type: "search", placeholder: "Filter: words, 'exact, !not, a | b", "aria-label": "Filter the jobs", maxLength: 500, spellcheck: false });
    this.input.addEventListener("input", later(120, () => this.keepInURL()));
    this.input.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "Enter" || e.key === "ArrowDown") this.act("down");
    });
    this.count = h("span.count", { role: "status" });
    context.main.replaceChildren(h("div.sheet", {}, h("h1", {}, "Jobs"), h("div.sticky.controls", {}, this.input, this.count), this.content));
    context.setTitle("Jobs");
    this.changed();
  }

  /** Takes what the URL says. */
  changed() {
    const filter = new URLSearchParams(location.search).get("filter") ?? "";
    if (this.input.value.trim() !== filter) this.input.value = filter;
    this.load();
  }

  keepInURL() {
    const filter = this.input.value.trim();
    this.context.go(filter ? `/jobs?${new URLSearchParams({ filter })}` : "/jobs", true);
    this.load();
  }

  fetch() { return get("jobs", { filter: this.input.value.trim() }); }

  /** @param {any} answer */
  take({ html, total }) {
    this.fill(html);
    this.count.textContent = this.input.value.trim() ? `${number(total)} found` : "";
    if (!total) this.content.append(h("p.empty", {}, this.input.value.trim() ? "No job matches." : "There are no jobs."));
  }

  /** @param {string} action */
  act(action) {
    if (action === "find") this.input.focus();
    else if (action === "open") /** @type {HTMLElement} */ (document.activeElement)?.click();
    else if (action !== "down" && action !== "up") return scrollPage(action);
    else {
      const links = [...this.content.querySelectorAll("a[href^='/jobs/']")];
      const at = links.indexOf(document.activeElement) + (action === "down" ? 1 : -1);
      links[Math.max(0, Math.min(at, links.length - 1))]?.focus();
    }
    return true;
  }
}

/** The questions of a job. One that has an ID never changes, so an answer that names it needs no digest. */
class JobQuestions extends Questions {
  /**
   * @param {any} q
   * @param {any} answer
   */
  async answer(q, answer) {
    const form = this.form;
    form.inert = true;
    this.sent = q.question;
    try {
      await post(`jobs/${q.agent}/answers`, { question: q.question, answer });
      this.remove({ agent: q.agent, question: q.question, by: "", what: "" });
    } catch (error) {
      this.sent = "";
      complain(error);
      if (/** @type {any} */ (error).status === 409) this.remove({ agent: q.agent, question: q.question, by: "", what: "" });
      else if (this.form === form) this.settle();
    }
  }

  /** @param {any[]} answered */
  setAnswered(answered) {
    for (const a of answered) if (a.question !== this.sent) this.remove(a);
  }
}

class JobPage extends LivePage {
  /**
   * @param {import("./app.js").Context} context
   * @param {string} id
   */
  constructor(context, id) {
    super(context);
    this.path = `jobs/${id}`;
    this.title = h("h1", {}, "Job");
    this.buttons = h("div.buttons");
    this.questions = new JobQuestions(() => {});
    this.asked = h("div");
    this.patch = h("section", { hidden: true });
    this.patches = inOrder();
    context.main.replaceChildren(h("div.sheet", {}, h("p", {}, h("a", { href: "/jobs" }, "Jobs")), this.title,
      context.me.drive ? this.questions.element : this.asked, this.buttons, this.content, this.patch));
    context.setTitle("Job");
    this.load();
  }

  fetch() { return get(this.path); }

  /** @param {any} job */
  take(job) {
    this.path = `jobs/${job.id}`; // the URL may have the beginning of the ID
    this.title.textContent = job.title;
    this.context.setTitle(job.title);
    this.fill(job.html);
    for (const code of this.content.querySelectorAll("[data-command]")) {
      code.after(" ", button("Copy", () => copy(code.textContent, "the command"), { className: "quiet", "aria-label": `Copy ${code.textContent}` }));
    }
    if (this.context.me.drive) {
      this.questions.setAnswered(job.answered);
      this.questions.set(job.questions.filter((/** @type {any} */ q) => q.question !== this.questions.sent));
      this.setButtons(job);
    } else {
      this.asked.replaceChildren(...job.questions.map((/** @type {any} */ q) => h("section.question", {}, h("div", {}, h("h2", {}, q.title), fragment(q.html)))));
      reachScrolling(this.asked);
    }
    if (job.patch && job.patch !== this.shown) this.loadPatch(job.patch);
  }

  /** @param {any} job */
  setButtons(job) {
    const key = JSON.stringify([job.canStop, job.canGoOn, job.canRetry, job.budget]);
    if (key === this.key) return; // the focus stays
    this.key = key;
    const budget = async (/** @type {string} */ title) => job.budget
      ? Number(await ask({ title, note: "The budget of the job is used up. Its new budget, in USD:", yes: title, value: "" }) ?? NaN) : 0;
    const cancel = async () => await ask({ title: "Cancel the job?", note: "Its agent is ended. What it has done stays.", yes: "Cancel the job", danger: true }) !== null
      && this.decide("cancel", {}, "Canceled");
    const goOn = async (/** @type {string} */ what, /** @type {string} */ title) => {
      const n = await budget(title);
      if (!Number.isNaN(n)) await this.decide(what, { budget: n }, "Queued again");
    };
    this.buttons.replaceChildren(...[
      job.canGoOn && button("Resume", () => goOn("resume", "Resume")),
      job.canRetry && button("Retry", () => goOn("retry", "Retry"), { title: "From the beginning" }),
      job.canStop && button("Cancel…", cancel),
    ].filter((b) => b));
  }

  /**
   * @param {string} what
   * @param {any} body
   * @param {string} done
   */
  async decide(what, body, done) {
    try {
      await post(`${this.path}/${what}`, body);
      say(done);
    } catch (error) {
      complain(error);
    }
    await this.load();
  }

  /** @param {string} name */
  async loadPatch(name) {
    this.shown = name;
    const isNewest = this.patches();
    try {
      const { html } = await get(`${this.path}/patch`);
      if (!isNewest()) return;
      this.patch.replaceChildren(h("h2", {}, "Patch"), fragment(html));
      reachScrolling(this.patch);
    } catch (error) {
      if (!isNewest()) return;
      this.patch.replaceChildren(h("h2", {}, "Patch"), h("p.error", {}, /** @type {Error} */ (error).message));
    }
    this.patch.hidden = false;
  }
}
