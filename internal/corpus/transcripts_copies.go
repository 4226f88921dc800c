package corpus

import (
	"path/filepath"
	"slices"
)

// A copyKind says how the beginning of a session came into another one.
type copyKind int

const (
	// forkSession repeats the entries under the new session's ID, and says that they are those of a background session.
	forkSession copyKind = iota
	// forkSDK gives the entries new UUIDs, and says where they are from.
	forkSDK
	// resumeCopy repeats the entries under the new session's ID, and says nothing.
	resumeCopy
)

// with returns the object with a member changed, or added at its end.
func (o object) with(name string, value any) object {
	o = slices.Clone(o)
	for i := 0; i < len(o); i += 2 {
		if o[i] == name {
			o[i+1] = value
			return o
		}
	}
	return append(o, name, value)
}

func (o object) member(name string) any {
	for i := 0; i < len(o); i += 2 {
		if o[i] == name {
			return o[i+1]
		}
	}
	return nil
}

// whole returns the entries that were kept, without an answer at their end: it may lack lines.
func (r *recording) whole() []keptEntry {
	kept := r.kept
	for len(kept) > 0 && kept[len(kept)-1].answer != nil {
		kept = kept[:len(kept)-1]
	}
	return kept
}

// writeCopies begins the session with the beginning of another one, of the same project.
func (r *recording) writeCopies() {
	renamed := map[any]any{}
	for _, kept := range r.copyOf.whole() {
		entry := kept.entry.with("sessionId", r.id)
		uuid := entry.member("uuid")
		switch r.copied {
		case forkSession:
			entry = entry.with("sessionKind", "bg")
		case forkSDK:
			renamed[uuid] = r.uuid()
			if kept.kind == "progress" { // left out: what hangs on it hangs on what is before it
				renamed[uuid] = renamed[entry.member("parentUuid")]
				continue
			}
			entry = entry.with("parentUuid", renamed[entry.member("parentUuid")]).with("uuid", renamed[uuid]).
				with("forkedFrom", object{"sessionId", r.copyOf.id, "messageUuid", uuid})
		case resumeCopy:
			if a := kept.answer; a != nil {
				a.session = min(a.session, r.id) // nothing tells which one is the copy
			}
		}
		r.write(kept.kind, entry)
		r.parent = entry.member("uuid")
		r.book.copied(r.id, kept)
	}
}

// copied takes note of an entry that was copied into a session.
func (b *book) copied(session string, kept keptEntry) {
	b.t.Naive += kept.used
	b.change(session, func(s *SessionTruth) {
		if kept.typed {
			s.Prompts++
		}
		switch attachment, _ := kept.entry.member("attachment").(object); {
		case kept.kind == "system/compact_boundary":
			s.Compactions++
		case attachment.member("type") == "queued_command":
			s.Queued++
		}
	})
}

// replay writes a transcript of a subagent that repeats the beginning of the session: for a question on the side, under
// requests of its own, or for a compaction.
func (r *recording) replay(name string, newRequests bool) {
	copies := &recording{projects: r.projects, id: r.id, agent: name, now: r.now}
	if r.fail(copies.create(r.path(r.id, "subagents", "agent-"+name+".jsonl"))); r.err != nil {
		return
	}
	for _, kept := range r.whole() {
		entry := kept.entry.with("isSidechain", true).with("agentId", name)
		if newRequests && entry.member("requestId") != nil {
			entry = entry.with("requestId", r.newID("req_011C"))
		}
		copies.write(kept.kind, entry)
		r.book.t.Naive += kept.used
	}
	r.fail(copies.finish())
}

// subagent lets a subagent work on a prompt, and returns its ID and its answer. It may start another one.
func (r *recording) subagent(tool, kind, prompt string) (id, answer string) {
	id = "a" + r.hex(16)
	sub := &recording{
		projects: r.projects, project: r.project, id: r.id, cwd: r.cwd, branch: r.branch, version: r.version,
		current: r.current, gateway: r.gateway, model: pick(r.generator, models), scale: 0.4,
		agent: id, depth: r.depth + 1, now: r.now, context: r.between(12_000, 18_000), prompt: r.prompt,
	}
	if r.fail(sub.create(r.path(r.id, "subagents", "agent-"+id+".jsonl"))); r.err != nil {
		return id, ""
	}
	sub.typed(prompt)
	for range r.between(2, 8) {
		sub.round()
		if !r.current && r.oneIn(3) {
			r.now = sub.now
			r.progressOf(tool, sub)
		}
	}
	answer = r.words(r.between(400, 2000))
	sub.ask()
	sub.answer([]object{{"type", "text", "text", answer}}, "end_turn")
	r.fail(sub.finish())
	r.fail(writeFile(filepath.Join(filepath.Dir(sub.file.Name()), "agent-"+id+".meta.json"), sub.meta(r, tool, kind)))
	for _, model := range models {
		r.spend(model, sub.spent[model])
	}
	r.now = sub.now
	return id, answer
}

// meta is what is known of a subagent that parent has started.
func (r *recording) meta(parent *recording, tool, kind string) object {
	meta := object{"agentType", kind, "description", "Look at " + r.word(), "toolUseId", tool, "spawnDepth", r.depth}
	if parent.agent != "" {
		meta = append(meta, "parentAgentId", parent.agent)
	}
	return meta
}

// progressOf shows in the session the last answer of a subagent, whose usage is final.
func (r *recording) progressOf(tool string, sub *recording) {
	data := object{"type", "agent_progress", "agentId", sub.agent, "prompt", ""}
	if last := sub.lastLine; last != nil && r.oneIn(2) {
		entry := object{"type", "assistant", "uuid", last.member("uuid"), "timestamp", last.member("timestamp"), "message",
			last.member("message")}
		if request := last.member("requestId"); request != nil {
			entry = append(entry, "requestId", request)
		}
		r.progress(tool, append(data, "message", entry))
		r.book.t.Naive += sub.lastUsed
		return
	}
	message := object{"role", "user", "content", r.output(300)}
	r.progress(tool, append(data, "message", object{"type", "user", "message", message, "uuid", r.uuid(), "timestamp",
		r.stamp()}))
}
