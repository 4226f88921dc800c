"use strict";
// Tools of the page: find, expand and copy. The page reads the same without them.
(() => {
  const main = document.getElementById("conversation");
  const make = (tag, attributes, text) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text) e.textContent = text;
    return e;
  };
  const button = (text, label, action) => {
    const b = make("button", { type: "button", "aria-label": label, title: label }, text);
    b.addEventListener("click", action);
    return b;
  };

  // index joins the texts of the conversation. Texts of different blocks never match together.
  const blocks = "p,li,pre,td,th,h1,h2,h3,h4,h5,h6,summary,dt,dd";
  let index;
  const read = () => {
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    const nodes = [], starts = [], parts = [];
    let length = 0, block = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("button")) continue;
      const around = node.parentElement.closest(blocks);
      if (around !== block) {
        block = around;
        parts.push("\n");
        length++;
      }
      const low = node.data.toLowerCase();
      parts.push(low.length === node.length ? low : node.data);
      nodes.push(node);
      starts.push(length);
      length += node.length;
    }
    return { nodes, starts, text: parts.join("") };
  };
  // place returns the node and the offset of a position in the text.
  const place = (at, end) => {
    let low = 0, high = index.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (index.starts[middle] < at || (!end && index.starts[middle] === at)) low = middle;
      else high = middle - 1;
    }
    return [index.nodes[low], at - index.starts[low]];
  };
  const rangeOf = (at, length) => {
    const range = new Range();
    range.setStart(...place(at, false));
    range.setEnd(...place(at + length, true));
    return range;
  };

  const most = 5000;
  let found = [], current = -1;
  const mark = (name, ranges) => {
    if (window.Highlight && CSS.highlights) CSS.highlights.set(name, new Highlight(...ranges));
  };
  const show = (i) => {
    if (found.length === 0) return;
    current = (i + found.length) % found.length;
    const range = found[current];
    for (let e = range.startContainer.parentElement; e && e !== main; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
    }
    mark("here", [range]);
    if (!window.Highlight) getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
    range.startContainer.parentElement.scrollIntoView({ block: "center" });
    count.textContent = `${current + 1} of ${found.length}${found.length === most ? "+" : ""}`;
  };
  const find = (words) => {
    found = [];
    current = -1;
    index ??= read();
    const low = words.toLowerCase();
    for (let at = low ? index.text.indexOf(low) : -1; at >= 0 && found.length < most; at = index.text.indexOf(low, at + low.length)) {
      found.push(rangeOf(at, low.length));
    }
    mark("found", found);
    mark("here", []);
    count.textContent = words && found.length === 0 ? "not found" : "";
    show(0);
  };

  const field = make("input", { type: "search", placeholder: "Find", "aria-label": "Find in the conversation" });
  const count = make("output", { "aria-live": "polite" });
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => find(field.value), 150);
  });
  field.addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    clearTimeout(waiting);
    if (current < 0) find(field.value);
    else show(current + (e.shiftKey ? -1 : 1));
  });

  let expanded = false;
  const expand = button("Expand all", "Expand all calls, results and subagents", () => {
    expanded = !expanded;
    for (const d of main.querySelectorAll("details")) d.open = expanded;
    expand.textContent = expanded ? "Fold all" : "Expand all";
    expand.setAttribute("aria-label", expanded ? "Fold all calls, results and subagents" : "Expand all calls, results and subagents");
  });
  const tools = make("div", { class: "tools", role: "search" });
  tools.append(field, count, button("↑", "Previous match", () => show(current - 1)), button("↓", "Next match", () => show(current + 1)), expand);
  main.before(tools);

  const put = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = make("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  const copies = (label, text) => {
    const b = button("Copy", label, async () => {
      try {
        await put(text());
        b.textContent = "Copied";
      } catch {
        b.textContent = "Not allowed";
      }
      setTimeout(() => { b.textContent = "Copy"; }, 1500);
    });
    b.className = "copy";
    return b;
  };
  // said returns the text of a message without what its calls did.
  const said = (article) => [...article.querySelectorAll(":scope > .prose, :scope > .asked, :scope > .said, :scope > .plain")]
    .map((e) => e.innerText.trim()).join("\n\n");
  for (const article of main.querySelectorAll("article.chunk")) {
    if (said(article)) article.querySelector(".by").append(copies("Copy the text of this message", () => said(article)));
  }
  for (const pre of main.querySelectorAll(".prose pre, pre.in")) {
    pre.before(copies("Copy this block", () => pre.innerText));
  }

  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea")) return;
    e.preventDefault();
    field.focus();
  });
  const words = new URLSearchParams(location.hash.slice(1)).get("find");
  if (words) {
    field.value = words;
    find(words);
  }
})();
