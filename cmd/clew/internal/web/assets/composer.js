// @ts-check
// Driving an agent: the composer below a session, with its queue and its questions, and the form that
// starts a session.

import { get } from "./api.js";
import { ask, button, complain, count, fragment, h, say, show } from "./dom.js";
import { listen } from "./events.js";
import { Questions } from "./question.js";
import { imagesOf, isOld, isOpen, outboxOf, sendOnce, store } from "./send.js";

const maxImages = 20, maxImageBytes = 5 << 20;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** What the modes do, in a few words. @type {Record<string, string>} */
const modeNames = {
  default: "ask before tools", acceptEdits: "accept edits", plan: "plan only", auto: "decide by itself",
  dontAsk: "deny what is not allowed", bypassPermissions: "never ask",
};

/** Makes an area as high as its text, up to a limit of the style. @param {HTMLTextAreaElement} area */
const grow = (area) => { area.rows = Math.min(Math.max(area.value.split("\n").length, 1), 12); };

// All tabs have the same draft of a session.
addEventListener("storage", ({ key, oldValue, newValue }) => {
  const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector(`textarea[name="${CSS.escape(key ?? "")}"]`));
  if (area?.value !== (oldValue ?? "")) return;
  area.value = newValue ?? "";
  grow(area);
});

/** A text with images that is being written. The text outlives the page and its tab. */
class Editor {
  /**
   * @param {string} name of the draft
   * @param {() => void} submit
   */
  constructor(name, submit) {
    /** @type {{data: string, url: string}[]} */
    this.images = [];
    this.area = h("textarea", { name: `clew-draft-${name}`, "aria-label": "Prompt", value: localStorage.getItem(`clew-draft-${name}`) ?? "" });
    this.thumbs = h("div.thumbs", { hidden: true });
    this.file = h("input", { type: "file", accept: imageTypes.join(","), multiple: true, hidden: true, "aria-label": "Images" });
    this.element = h("div.editor", {}, this.thumbs, this.area, this.file);
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("paste", (/** @type {ClipboardEvent} */ e) => this.take(e, e.clipboardData?.files));
    this.element.addEventListener("dragover", (/** @type {DragEvent} */ e) => e.preventDefault());
    this.element.addEventListener("drop", (/** @type {DragEvent} */ e) => this.take(e, e.dataTransfer?.files));
    this.file.addEventListener("change", () => { this.addAll([...this.file.files]); this.file.value = ""; });
    this.area.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
      if (e.key !== "Enter" || e.isComposing || e.shiftKey || e.altKey) return;
      // On a touch screen Enter is a line break: there is no Shift to make one with.
      if (!e.ctrlKey && !e.metaKey && matchMedia("(pointer: coarse)").matches) return;
      e.preventDefault();
      submit();
    });
    grow(this.area);
  }

  changed() {
    store(this.area.name, this.area.value);
    grow(this.area);
  }

  /** @param {string} text */
  setText(text) {
    this.area.value = text;
    this.changed();
  }

  get text() { return this.area.value.trim(); }

  get isEmpty() { return !this.text && !this.images.length; }

  clear() {
    this.setText("");
    for (const image of this.images) URL.revokeObjectURL(image.url);
    this.images = [];
    this.drawImages();
  }

  /**
   * Puts a prompt that has come back before what is written.
   * @param {string} text
   * @param {string[]} images
   */
  giveBack(text, images) {
    if (text && text !== this.text) this.setText([text, this.text].filter(Boolean).join("\n\n"));
    for (const data of images) {
      if (this.images.length >= maxImages || this.images.some((image) => image.data === data)) continue;
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      this.images.push({ data, url: URL.createObjectURL(new Blob([bytes])) });
    }
    this.drawImages();
  }

  /**
   * @param {Event} e
   * @param {FileList | undefined | null} files
   */
  take(e, files) {
    const images = [...files ?? []].filter((f) => imageTypes.includes(f.type));
    if (!images.length) return;
    e.preventDefault();
    this.addAll(images).catch(complain);
  }

  /** @param {File[]} files */
  async addAll(files) {
    for (const file of files) {
      if (file.size > maxImageBytes) say(`${file.name} is larger than 5 MiB`);
      else if (this.images.length >= maxImages) say(`A prompt can have ${maxImages} images`);
      else this.images.push({ data: await base64(file), url: URL.createObjectURL(file) });
    }
    this.drawImages();
  }

  drawImages() {
    this.thumbs.hidden = !this.images.length;
    this.thumbs.replaceChildren(...this.images.map((image, i) => h("span.thumb", {}, h("img", { src: image.url, alt: `Image ${i + 1}` }),
      button("×", () => { this.images.splice(i, 1); this.drawImages(); }, { "aria-label": `Remove image ${i + 1}` }))));
  }
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/**
 * A list to choose from.
 * @param {string} label
 * @param {{value: string, text: string}[]} options
 */
function select(label, options) {
  return h("select", { "aria-label": label, title: label }, ...options.map((o) => h("option", { value: o.value }, o.text)));
}

/** @param {string[]} modes */
const modeOptions = (modes) => modes.map((m) => ({ value: m, text: modeNames[m] ?? m }));

/** @param {string[]} models */
const modelOptions = (models) => models.map((m) => ({ value: m, text: m }));

/** The composer of a session. */
class Composer {
  /** @type {any} */
  state;
  /** @type {any} */
  forkLabel;
  /** @type {any} */
  stopButton;
  /** @type {any} */
  endButton;
  /** @type {any} */
  rewindButton;
  /** @type {any} */
  sendButton;
  /** Counts events about agents of the session: what was asked for before one of them may be out of date. */
  events = 0;
  /** The timer that removes a complete answer. */
  fading = 0;

  /**
   * @param {HTMLElement} dock
   * @param {any} page the session's
   */
  constructor(dock, page) {
    this.page = page;
    /** The agents of the session by their ids, the newest one last. @type {Map<string, any>} */
    this.agents = new Map();
    /** The one that counts, or null. @type {any} */
    this.agent = null;
    /** Whether the agents are known, and whether a prompt waits for that. */
    this.isKnown = this.isPending = false;
    this.outbox = outboxOf(page.id);
    this.outbox.settled = (p, error, result) => this.settled(p, error, result);
    this.outbox.changed = () => this.draw();
    this.questions = new Questions(() => this.fit());
    this.editor = new Editor(page.id, () => this.submit());
    this.editor.area.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.pressed(e));
    this.build();
    dock.replaceChildren(this.element, ...(page.newer ? [page.newer] : [])); // which must not cover the composer
    this.endListen = listen((event) => this.heard(event));
    this.load().catch(complain);
  }

  build() {
    const { me } = this.page.context;
    this.draft = h("div.draft.prose", { hidden: true, "aria-hidden": "true" });
    this.page.list.element.after(this.draft);
    this.queue = h("ul.queue", { hidden: true, "aria-label": "Prompts that wait" });
    this.state = h("span.state", { role: "status" });
    this.mode = select("Permission mode", modeOptions(me.modes ?? []));
    this.model = select("Model", modelOptions(me.models ?? []));
    this.fork = h("input", { type: "checkbox" });
    this.forkLabel = h("label", {}, this.fork, " as a copy");
    this.sendButton = button("Send", () => this.submit(), { className: "primary" });
    this.stopButton = button("Interrupt", () => this.interrupt(), { hidden: true });
    this.rewindButton = button("Rewind…", () => this.chooseRewind(), { className: "quiet", hidden: true });
    this.endButton = button("End", () => this.end(), { className: "quiet", hidden: true, title: "End the agent; the session can be continued" });
    this.mode.addEventListener("change", () => this.change("mode", { mode: this.mode.value }));
    this.model.addEventListener("change", () => this.change("model", { model: this.model.value }));
    this.element = h("div.composer", {}, this.questions.element, this.queue, this.editor.element,
      h("div.controls", {}, this.state, this.forkLabel, this.mode, this.model,
        button("Image", () => this.editor.file.click(), { className: "quiet" }), this.rewindButton, this.endButton, this.stopButton, this.sendButton));
    this.draw();
  }

  /** Looks for an agent that has the session, and for prompts that were not confirmed. */
  async load() {
    for (let attempt = 0; ; attempt++) {
      const before = this.events;
      const { agents } = await get("driven");
      if (before !== this.events && attempt < 5) continue;
      const mine = agents.filter((/** @type {any} */ a) => a.session === this.page.id);
      this.questions.set(mine.flatMap((/** @type {any} */ a) => a.questions));
      this.events++;
      this.agents.clear();
      this.take(...mine.toReversed());
      break;
    }
    this.isKnown = true;
    if (this.isPending) this.submit();
    await this.outbox.sendAgain();
  }

  /** @param {...any} agents that are new or have changed */
  take(...agents) {
    for (const a of agents) {
      this.agents.set(a.agent, a);
      for (const p of promptsOf(a)) this.outbox.drop(p.id); // it has arrived
    }
    this.agent = [...this.agents.values()].sort((a, b) => rank(a) - rank(b)).at(-1) ?? null;
    this.draw();
  }

  /**
   * Takes what a request has returned, unless an event has told something newer.
   * @param {any} agent
   * @param {number} before the events when it was sent
   */
  takeResult(agent, before) {
    if (before !== this.events) return;
    this.take(agent);
    if (agent.questions) this.questions.setOf(agent.agent, agent.questions);
  }

  get isDriven() { return !!this.agent && !this.agent.elsewhere && this.agent.state !== "ended"; }

  /** @param {import("./events.js").ServerEvent} event */
  heard({ type, data }) {
    if (type === "reload" || type === "connected") this.load().catch(complain);
    const mine = data.session === this.page.id;
    if (mine && ["agent", "question", "answered"].includes(type)) this.events++;
    if (type === "agent" && mine) this.take(data);
    if (type === "question" && mine) this.questions.add(data);
    if (type === "answered" && mine) this.questions.remove(data);
    if (type === "delta" && mine) this.write(data.html);
    if (type === "rows" && mine && this.fading) this.write("", true);
  }

  /**
   * Shows the answer that is being written. When it is complete it stays until its row is there.
   * @param {string} html
   * @param {boolean} [now]
   */
  write(html, now = false) {
    clearTimeout(this.fading);
    this.fading = 0;
    if (!html && !now) {
      this.fading = window.setTimeout(() => this.write("", true), 1500);
      return;
    }
    this.draft.hidden = !html;
    this.draft.replaceChildren(html ? fragment(html) : "");
    this.fit();
  }

  /** Keeps the end in view if the page follows it. */
  fit() {
    if (this.page.place?.following) this.page.place.restore();
  }

  draw() {
    const a = this.agent, driven = this.isDriven;
    const busy = driven && (a.state === "working" || a.state === "waiting");
    this.state.textContent = stateText(a);
    this.state.title = a?.note ?? "";
    this.forkLabel.hidden = driven;
    this.stopButton.hidden = !busy;
    this.endButton.hidden = !driven;
    this.rewindButton.hidden = !driven || a.state !== "idle" || !a.sent.length;
    this.sendButton.textContent = busy ? "Queue" : "Send";
    this.editor.area.placeholder = driven ? "Prompt" : "Continue this session";
    if (driven) {
      setValue(this.mode, a.mode);
      setValue(this.model, a.model);
    }
    const waiting = (a?.queue ?? []).filter((/** @type {any} */ p) => p.state === "queued");
    const back = [...this.agents.values()].flatMap((b) => b.returned.map((/** @type {any} */ p) => ({ ...p, agent: b.agent })));
    const items = [...waiting.map((/** @type {any} */ p) => this.waitingItem(p)), ...back.map((/** @type {any} */ p) => this.returnedItem(p)),
      ...this.outbox.stuck.map((p) => this.stuckItem(p))];
    this.queue.hidden = !items.length;
    this.queue.replaceChildren(...items);
    this.fit();
  }

  /** @param {any} p */
  waitingItem(p) {
    return h("li", {}, h("span.soft", {}, "queued "), h("span.words", {}, inWords(p)), button("Take back", () => this.takeBack(p), { className: "quiet" }));
  }

  /** @param {any} p */
  returnedItem(p) {
    const why = p.state === "lost" ? "not answered: the agent may have begun with it" : "not sent";
    return h("li", {}, h("span.error", {}, `${why} `), h("span.words", {}, inWords(p)), button("Edit", () => this.takeBack(p), { className: "quiet" }));
  }

  /** @param {import("./send.js").Unconfirmed} p */
  stuckItem(p) {
    const words = inWords({ text: wordsOf(p), images: p.body.images?.length });
    return h("li", {}, h("span.error", {}, "not confirmed "), h("span.words", {}, words),
      ...(isOld(p) ? [button("Send again", () => { this.outbox.renew(p); this.draw(); }, { className: "quiet" })] : []),
      button("Take back", () => this.takeStuck(p), { className: "quiet" }));
  }

  /** @param {import("./send.js").Unconfirmed} p */
  takeStuck(p) {
    this.outbox.drop(p.id);
    this.editor.giveBack(wordsOf(p), p.body.images ?? []);
    say(p.stripped ? "It may have been sent. Its images have to be added again" : "It may have been sent");
    this.draw();
    this.editor.area.focus();
  }

  /** Sends what was written. */
  submit() {
    this.isPending = !this.isKnown;
    if (this.editor.isEmpty || this.isPending) return;
    const text = this.editor.text, images = this.editor.images.map((image) => image.data);
    const [path, body] = this.isDriven ? [`agents/${this.agent.agent}/prompts`, { text, images }] : ["agents", this.startBody(text, images)];
    this.editor.clear();
    this.page.place?.toEnd();
    this.outbox.send(path, body);
  }

  /**
   * Takes what has become of a prompt, unless an event has told it.
   * @param {import("./send.js").Unconfirmed} p
   * @param {any} error
   * @param {any} result
   */
  settled(p, error, result) {
    const agent = this.agents.get(p.path.split("/")[1]);
    if (error) this.giveBack(p, error);
    else if (result && p.path === "agents") this.started(p, result).catch(complain);
    else if (result && agent && !promptsOf(agent).some((q) => q.id === p.id)) this.take({ ...agent, queue: [...agent.queue, result] });
    this.draw();
  }

  /**
   * @param {string} prompt
   * @param {string[]} images
   */
  startBody(prompt, images) {
    const modes = this.page.context.me.modes ?? []; // the last agent may have had another one
    const mode = modes.includes(this.mode.value) ? this.mode.value : "";
    return { session: this.page.id, fork: this.fork.checked, mode, model: "", prompt, images };
  }

  /**
   * @param {import("./send.js").Unconfirmed} p
   * @param {any} agent
   */
  async started(p, agent) {
    if (agent.session === this.page.id) {
      if (this.agents.has(agent.agent)) return;
      this.take(agent);
      if (agent.questions) this.questions.setOf(agent.agent, agent.questions);
      return;
    }
    if (agent.returned.some((/** @type {any} */ q) => q.id === p.id)) return this.giveBack(p, new Error(agent.why));
    say("The copy is being made");
    await appears(agent.session);
    this.page.context.go(`/s/${agent.session}`);
  }

  /**
   * Gives a prompt that was not accepted back to the user. One of which that is not known stays in the
   * outbox, and is sent again when the page is connected.
   * @param {import("./send.js").Unconfirmed} p
   * @param {any} error
   */
  giveBack(p, error) {
    if (!isOpen(error)) this.editor.giveBack(wordsOf(p), p.body.images ?? []);
    const lost = p.path !== "agents" && error?.status === 404; // the server was started again, and does not know the agent
    complain(lost ? new Error("The prompt may have been sent: its agent is gone.") : error);
    if (error?.status === 409 && !this.isDriven) this.fork.checked = true;
  }

  /** @param {any} p */
  async takeBack(p) {
    const before = this.events;
    const id = p.agent ?? this.agent.agent;
    const others = (/** @type {any[]} */ list) => list.filter((other) => other.id !== p.id);
    try {
      const { text } = await sendOnce(`agents/${id}/prompts/${encodeURIComponent(p.id)}/withdraw`, {});
      const images = imagesOf(p.id);
      this.editor.giveBack(text, images);
      const a = this.agents.get(id);
      this.takeResult({ ...a, queue: others(a.queue), returned: others(a.returned) }, before);
      if (images.length < p.images) say("Its images have to be added again");
      this.editor.area.focus();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {KeyboardEvent} e */
  pressed(e) {
    if (e.key === "g" && e.ctrlKey && this.questions.focus()) e.preventDefault();
    const last = (this.agent?.queue ?? []).filter((/** @type {any} */ p) => p.state === "queued").at(-1);
    if (e.key === "ArrowUp" && !this.editor.area.value && last) {
      e.preventDefault();
      this.takeBack(last);
    }
  }

  interrupt() {
    sendOnce(`agents/${this.agent.agent}/interrupt`, {}).catch(complain);
  }

  /**
   * @param {string} what
   * @param {any} body
   */
  async change(what, body) {
    if (!this.isDriven) return; // it is for the agent that will be started
    const before = this.events;
    try {
      this.takeResult(await sendOnce(`agents/${this.agent.agent}/${what}`, body), before);
    } catch (error) {
      complain(error);
      this.draw();
    }
  }

  async end() {
    const yes = await ask({ title: "End the agent?", note: "Its session stays, and can be continued.", yes: "End it" });
    if (yes !== null) sendOnce(`agents/${this.agent.agent}/end`, {}).catch(complain);
  }

  chooseRewind() {
    const dialog = show("Rewind to before a prompt", h("ul.queue", {}, ...this.agent.sent.toReversed().map((/** @type {any} */ p) => h("li", {},
      h("span.words", {}, inWords(p)), button("Rewind…", () => { dialog.close(); this.rewind(p).catch(complain); })))));
  }

  /** @param {any} p */
  async rewind(p) {
    const path = `agents/${this.agent.agent}/rewind`;
    let preview = await sendOnce(path, { to: p.id, preview: true });
    for (let changed = ""; ; changed = "What would be undone has changed. ") {
      const files = preview.unchanged ? `No file is restored: ${preview.unchanged}.`
        : preview.files?.length ? `These files are restored (+${preview.insertions} −${preview.deletions}): ${preview.files.join(", ")}.` : "No file has changed since.";
      const yes = await ask({ title: "Rewind", note: `${changed}The prompt and everything after it leave the conversation. ${files}`, yes: "Rewind", danger: true });
      if (yes === null) return;
      try {
        const done = await sendOnce(path, { to: p.id, digest: preview.digest });
        this.editor.setText(done.prompt);
        return this.editor.area.focus();
      } catch (error) {
        preview = /** @type {any} */ (error).body?.state?.preview;
        if (!preview) throw error;
      }
    }
  }

  focus() { this.editor.area.focus(); }

  close() {
    this.endListen();
    clearTimeout(this.fading);
    this.draft.remove();
  }
}

/**
 * Which one of a session's agents counts: one that is driven here, or else one that has not ended.
 * @param {any} a
 */
const rank = (a) => (!a ? 0 : a.state === "ended" ? 1 : a.elsewhere ? 2 : 3);

/** @param {any} a */
function stateText(a) {
  if (!a || a.elsewhere) return a?.state === "waiting" ? "asks you; its terminal asks as well" : "";
  const states = { starting: "starting…", working: "working…", waiting: "waits for you", idle: "idle", ended: "ended" };
  const state = /** @type {Record<string, string>} */ (states)[a.state] ?? a.state;
  return [state, a.state === "ended" ? a.why : a.failure].filter(Boolean).join(": ");
}

/** All prompts that an agent is known to have got. @param {any} a @returns {any[]} */
const promptsOf = (a) => [...a.queue ?? [], ...a.sent ?? [], ...a.returned ?? []];

/** @param {import("./send.js").Unconfirmed} p @returns {string} */
const wordsOf = (p) => p.body.text ?? p.body.prompt ?? "";

/** @param {any} p */
function inWords(p) {
  const images = p.images ? ` (${count(p.images, "image")})` : "";
  return p.text + images;
}

/**
 * Chooses a value, which may not have been in the list.
 * @param {HTMLSelectElement} element
 * @param {string} value
 */
function setValue(element, value) {
  if (!value || document.activeElement === element) return;
  if (![...element.options].some((o) => o.value === value)) element.append(h("option", { value }, value));
  element.value = value;
}

/**
 * Waits until the agent has written to a session.
 * @param {string} session
 */
async function appears(session) {
  for (let i = 0; i < 100; i++) {
    try {
      return await get(`sessions/${session}`);
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) throw error;
    }
    const { agents } = await get("driven");
    const agent = agents.find((/** @type {any} */ a) => a.session === session);
    if (!agent || agent.state === "ended") throw new Error(agent?.why ?? "The agent has ended");
    if (agent.questions?.length) return; // it waits for an answer before it writes
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/**
 * Puts the composer of a session into its place.
 * @param {HTMLElement} dock
 * @param {any} page
 */
export function mount(dock, page) { return new Composer(dock, page); }

/**
 * Puts the form that starts a session into its place.
 * @param {HTMLElement} place
 * @param {import("./app.js").Context} context
 */
export function mountStart(place, context) {
  const { me } = context;
  const projects = me.projects ?? [];
  const project = select("Project", projects.map((/** @type {any} */ p) => ({ value: p.id, text: p.dir })));
  const mode = select("Permission mode", modeOptions(me.modes ?? []));
  const model = select("Model", [{ value: "", text: "usual model" }, ...modelOptions(me.models ?? [])]);
  const start = button("Start", () => submit(), { className: "primary", disabled: !projects.length });
  const editor = new Editor("start", () => submit());
  editor.area.placeholder = "Prompt for a new session";
  const state = h("span.state", { role: "status" }, projects.length ? "" : "No project is known. Start clew serve with --root DIR.");
  const outbox = outboxOf("start");
  outbox.sends = (p) => outbox.holds(p.id); // other tabs send their own
  let wanted = "";
  outbox.settled = async (p, error, agent) => {
    try {
      if (error) throw error;
      if (agent?.returned.some((/** @type {any} */ q) => q.id === p.id)) throw new Error(agent.why);
      state.textContent = "";
      if (editor.text === p.body.prompt) editor.clear();
      if (!agent || wordsOf(p) !== wanted) return say("The agent was started");
      await appears(agent.session);
      context.go(`/s/${agent.session}`);
    } catch (problem) {
      if (!isOpen(problem) || editor.text === p.body.prompt) editor.giveBack(p.body.prompt, p.body.images);
      complain(problem);
      state.textContent = String(/** @type {any} */ (problem).message);
    }
  };
  /** Waits until it is known what has become of a start. @param {Promise<any>} sending */
  const settle = async (sending) => {
    start.disabled = true;
    await sending;
    start.disabled = !projects.length;
  };
  const submit = () => {
    if (editor.isEmpty || start.disabled) return;
    const body = { project: project.value, mode: mode.value, model: model.value, prompt: editor.text, images: editor.images.map((i) => i.data) };
    wanted = body.prompt;
    state.textContent = "starting…";
    // One that may have arrived is not started twice.
    const mine = outbox.all.filter((p) => outbox.holds(p.id));
    const before = mine.find((p) => JSON.stringify(p.body) === JSON.stringify(body));
    for (const p of mine) if (p !== before) outbox.drop(p.id);
    settle(before ? outbox.renew(before) : outbox.send("agents", body));
  };
  for (const p of outbox.all.filter((q) => !outbox.holds(q.id))) {
    if (editor.text !== p.body.prompt || isOld(p)) {
      outbox.drop(p.id);
      say(`An agent may have been started with “${p.body.prompt.slice(0, 40)}”. It is not started again.`);
      continue;
    }
    outbox.keep(p);
    editor.giveBack("", p.body.images);
    for (const [element, value] of [[project, p.body.project], [mode, p.body.mode], [model, p.body.model]]) setValue(element, value);
  }
  settle(outbox.sendAgain());
  place.replaceChildren(h("details.start", { open: !editor.isEmpty }, h("summary", {}, "Start an agent"),
    h("div.composer", {}, editor.element, h("div.controls", {}, state, project, mode, model,
      button("Image", () => editor.file.click(), { className: "quiet" }), start))));
}
