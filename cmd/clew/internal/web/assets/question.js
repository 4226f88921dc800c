// @ts-check
// Questions of an agent, docked above the composer. They never take the focus: a key that is typed
// into the composer answers nothing. Only inside of a question its own keys do.

import { button, complain, fragment, h, say } from "./dom.js";
import { sendOnce } from "./send.js";

/**
 * @typedef {{agent: string, session: string, question: string, digest: string, title: string, html: string,
 *   always: {index: number, text: string, marked: boolean}[], rule: string, tooLong: boolean,
 *   choices: {text: string, header: string, multiple: boolean, options: {label: string, text: string, description: string, preview: string}[]}[]}} Question
 */

/** What this page is called where another one is told who has answered. */
const client = (sessionStorage.getItem("clew-tab") ?? crypto.randomUUID().slice(0, 4));
sessionStorage.setItem("clew-tab", client);

/** How long a question that has just come can't be answered. */
const settleTime = 500;

export class Questions {
  /** @param {() => void} changed called when a question comes or goes */
  constructor(changed) {
    this.changed = changed;
    /** @type {Question[]} */
    this.list = [];
    this.at = 0;
    /** Counts changes of the list: what was asked for before one of them may be out of date. */
    this.changes = 0;
    this.key = "";
    this.body = h("div");
    this.element = h("section.question", { hidden: true, "aria-label": "Question of the agent", "data-scope": "question", tabIndex: -1 }, this.body);
    this.element.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.pressed(e));
  }

  /** @param {Question[]} list */
  set(list) {
    const shown = this.current;
    this.changes++;
    this.list = list;
    if (shown) this.at = Math.max(this.find(shown), 0);
    this.draw();
  }

  /**
   * Sets the questions of one agent.
   * @param {string} agent
   * @param {Question[]} list
   */
  setOf(agent, list) { this.set([...this.list.filter((q) => q.agent !== agent), ...list]); }

  /** @param {{agent: string, question: string}} question */
  find({ agent, question }) { return this.list.findIndex((q) => q.agent === agent && q.question === question); }

  /** @param {Question} question that is new or has changed */
  add(question) {
    const i = this.find(question);
    this.changes++;
    if (i < 0) this.list.push(question);
    else this.list[i] = question;
    this.draw();
  }

  /** @param {{agent: string, session?: string, question: string, by: string, what: string}} gone */
  remove(gone) {
    const i = this.find(gone);
    if (i < 0) return;
    this.changes++;
    this.list.splice(i, 1);
    if (gone.by && gone.by !== `page ${client}`) say(`Answered by ${gone.by}: ${gone.what}`);
    else if (!gone.by && !gone.session && gone.what) say(`The question is closed: ${gone.what}`); // a job's, which expired
    this.draw();
  }

  get current() { return this.list[Math.min(this.at, this.list.length - 1)]; }

  focus() {
    if (!this.list.length) return false;
    this.element.focus();
    return true;
  }

  draw() {
    const q = this.current;
    const had = this.element.contains(document.activeElement);
    this.element.hidden = !q;
    if (!q) {
      this.key = "";
      this.body.replaceChildren();
      this.changed();
      if (had) /** @type {HTMLElement | null} */ (document.querySelector(".composer textarea"))?.focus();
      return;
    }
    const count = this.list.length > 1 ? `${this.list.indexOf(q) + 1} of ${this.list.length}` : "";
    const key = `${q.agent} ${q.question} ${q.digest}`;
    if (key !== this.key) {
      this.key = key;
      this.count = h("span.count", {}, count);
      this.form = q.choices.length ? choices(q, (a) => this.answer(q, a)) : permission(q, (a) => this.answer(q, a));
      this.body.replaceChildren(
        h("header", {}, h("h2", {}, q.title), this.count,
          button("Next question", () => this.next(), { className: "quiet next" })),
        h("div.asked", { tabIndex: 0, role: "region", "aria-label": "What is asked" }, fragment(q.html)), this.form);
      this.settle();
      if (had) this.element.focus();
    }
    this.count.textContent = count;
    this.body.querySelector(".next").hidden = this.list.length < 2;
    this.changed();
  }

  /** A click that was meant for what was here before must not answer this question. */
  settle() {
    const form = this.form;
    form.inert = true;
    setTimeout(() => { form.inert = false; }, settleTime);
  }

  next() {
    this.at = (this.list.indexOf(this.current) + 1) % this.list.length;
    this.draw();
  }

  /**
   * @param {Question} q
   * @param {any} answer
   */
  async answer(q, answer) {
    const { form, changes } = this;
    form.inert = true;
    try {
      await sendOnce(`agents/${q.agent}/answers`, { question: q.question, digest: q.digest, client, answer });
      this.remove({ agent: q.agent, question: q.question, by: "", what: "" });
    } catch (error) {
      complain(error);
      const now = /** @type {any} */ (error).body?.state;
      if (now && changes === this.changes) this.setOf(now.agent, now.questions);
      if (this.form === form) this.settle(); // otherwise the question is another one, which settles by itself
    }
  }

  /** @param {KeyboardEvent} e */
  pressed(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || e.isComposing) return;
    if (e.key === "Escape") { // leaves, and answers nothing
      e.preventDefault();
      e.stopPropagation();
      /** @type {HTMLElement | null} */ (document.querySelector(".composer textarea"))?.focus();
      return;
    }
    const target = /** @type {HTMLElement} */ (e.target);
    if (target.matches("input:not([type=checkbox]):not([type=radio]), textarea")) return;
    const found = this.form?.inert ? null : this.body.querySelector(`button[data-key="${CSS.escape(e.key)}"]:not([hidden])`);
    e.stopPropagation(); // the keys of the page are not for here
    if (!found || e.repeat) return;
    e.preventDefault();
    /** @type {HTMLButtonElement} */ (found).click();
  }
}

/**
 * The answers to a question about a call.
 * @param {Question} q
 * @param {(answer: any) => void} answer
 */
function permission(q, answer) {
  const reason = h("input", { type: "text", placeholder: "Why, or what to do instead", "aria-label": "Reason", maxLength: 4000 });
  const why = h("form.more", { hidden: true }, reason, h("button", { type: "submit" }, "Deny"));
  why.addEventListener("submit", (/** @type {Event} */ e) => { e.preventDefault(); answer({ kind: "deny", reason: reason.value }); });
  const always = alwaysForm(q, answer);
  const open = (/** @type {HTMLFormElement} */ form) => {
    for (const other of [why, always]) if (other) other.hidden = other !== form || !other.hidden;
    if (!form.hidden) /** @type {HTMLElement | null} */ (form.querySelector("input, button"))?.focus();
  };
  return h("div.answers", {},
    h("div.buttons", {},
      !q.tooLong && button("Allow once", () => answer({ kind: "once" }), { className: "primary", "data-key": "y", title: "y" }),
      always && button("Always…", () => open(always), { "data-key": "a", title: "a: shows first what it changes" }),
      button("Deny", () => answer({ kind: "deny" }), { "data-key": "n", title: "n" }),
      button("Deny, and say why…", () => open(why), { "data-key": "e", title: "e", className: "quiet" })),
    always, why);
}

/**
 * What "always" changes, verbatim. A rule can be narrowed.
 * @param {Question} q
 * @param {(answer: any) => void} answer
 */
function alwaysForm(q, answer) {
  if (!q.always.length || q.tooLong) return null;
  const boxes = q.always.map((c) => h("input", { type: "checkbox", checked: c.marked, value: String(c.index) }));
  const rule = q.rule ? h("input", { type: "text", value: q.rule, "aria-label": "Rule, which can be narrowed", maxLength: 1000, spellcheck: false, required: true }) : null;
  if (rule) boxes[0].addEventListener("change", () => { rule.disabled = !boxes[0].checked; }); // an empty one is then no error
  const form = h("form.more.always", { hidden: true },
    h("p", {}, "This allows the call, and changes the permissions for later ones:"),
    ...q.always.map((c, i) => h("label", {}, boxes[i], " ", h("code", {}, c.text))),
    rule && h("label", {}, "Rule, which can be narrowed: ", rule),
    h("button", { type: "submit", className: "primary" }, "Allow always"));
  form.addEventListener("submit", (/** @type {Event} */ e) => {
    e.preventDefault();
    const changes = boxes.filter((b) => b.checked).map((b) => Number(b.value));
    answer({ kind: "always", changes, rule: rule && changes.includes(0) ? rule.value : "" });
  });
  return form;
}

/**
 * The answers to questions with options.
 * @param {Question} q
 * @param {(answer: any) => void} answer
 */
function choices(q, answer) {
  const sets = q.choices.map((choice, i) => {
    const inputs = choice.options.map((o) => h("input", { type: choice.multiple ? "checkbox" : "radio", name: `${q.question}-${i}`, value: o.label }));
    const own = h("input", { type: "text", placeholder: "In your own words", "aria-label": `In your own words: ${choice.text}`, maxLength: 4000 });
    if (!choice.multiple) own.addEventListener("input", () => { for (const input of inputs) input.checked = false; });
    const element = h("fieldset", {}, h("legend", {}, choice.text),
      ...choice.options.map((o, n) => h("label.option", {}, inputs[n], h("span", {}, h("b", {}, o.text), " ", o.description,
        o.preview && h("pre", {}, o.preview)))), own);
    const chosen = () => {
      const labels = inputs.filter((input) => input.checked).map((input) => input.value);
      return own.value.trim() && (choice.multiple || !labels.length) ? [...labels, own.value.trim()] : labels;
    };
    return { element, chosen };
  });
  const form = h("form.answers", {}, ...sets.map((s) => s.element), h("div.buttons", {},
    h("button", { type: "submit", className: "primary" }, "Answer"),
    button("Skip", () => answer({ kind: "skip" }), {})));
  form.addEventListener("submit", (/** @type {Event} */ e) => {
    e.preventDefault();
    const chosen = sets.map((s) => s.chosen());
    if (chosen.some((c) => c.length)) answer({ kind: "choose", chosen });
    else say("Choose an answer, or skip the question");
  });
  return form;
}
