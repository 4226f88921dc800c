package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
)

// ProjectsSize is the size in bytes of the projects that the published figures were measured with.
const ProjectsSize = 414_000_000

// Projects fills dir with the transcripts of many sessions, in the layout of the agent's own
// projects directory, and returns what is true of them. They have about size bytes; a small size
// gives fewer sessions, of the same kinds. The same seed and size always give the same bytes.
//
// There are sessions of CLI 2.1.325 and of older ones: subagents that start subagents, parallel
// calls, compactions, rewinds, resumes, forks of three kinds, spilled results, and lines with
// counts that are not final. Most of the bytes are tool results.
func Projects(dir string, seed uint64, size int) (*Truth, error) {
	return (&projects{generator: newGenerator(nil, seed), dir: dir, book: newBook()}).make(size)
}

// GatewayProjects is Projects, but some sessions were answered through a gateway, which gives no
// IDs to requests.
func GatewayProjects(dir string, seed uint64, size int) (*Truth, error) {
	return (&projects{generator: newGenerator(nil, seed), dir: dir, book: newBook(), gateways: true}).make(size)
}

func (p *projects) make(size int) (*Truth, error) {
	p.texts(size)
	targets := sessionSizes(p.generator, size)
	for i, target := range targets {
		r := p.newRecording(i, len(targets))
		if err := r.record(target); err != nil {
			return nil, fmt.Errorf("corpus: %w", err)
		}
		p.keep(r)
	}
	return p.book.truth(), nil
}

// projects is a projects directory that is being made.
type projects struct {
	*generator
	dir                  string
	book                 *book
	prosy, coded, logged text
	// original is a session that later ones are copied from.
	original *recording
	gateways bool
}

// texts makes the texts that all sessions take pieces of: making them for each session would take
// minutes.
func (p *projects) texts(size int) {
	n := min(max(size/16, 64<<10), 1<<20)
	p.prosy, p.coded, p.logged = newText(p.prose(n)), newText(p.code(n)), newText(p.log(n))
}

// words, codeOf and output are prose, source text and program output, of about n bytes.
func (p *projects) words(n int) string  { return p.prosy.piece(p.generator, n) }
func (p *projects) codeOf(n int) string { return p.coded.piece(p.generator, n) }
func (p *projects) output(n int) string { return p.logged.piece(p.generator, n) }

// sessionSizes are the sizes of the main transcripts, in any order: a few large ones, and many
// small ones. The rest of size is for subagents.
func sessionSizes(g *generator, size int) []int {
	count := min(max(size/(256<<10), 10), 200)
	weights := []float64{60, 34, 22, 15, 12, 10, 8, 7, 6, 5}
	for i := len(weights); i < count; i++ {
		switch share := float64(i) / float64(count); {
		case share < 0.2:
			weights = append(weights, 1.9+1.3*g.rng.Float64())
		case share < 0.55:
			weights = append(weights, 0.3+0.9*g.rng.Float64())
		default:
			weights = append(weights, 0.01+0.19*g.rng.Float64())
		}
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	sizes := make([]int, count)
	for i, w := range weights {
		sizes[i] = int(0.69 * float64(size) * w / sum)
	}
	g.rng.Shuffle(count, func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// newRecording starts session i of count.
func (p *projects) newRecording(i, count int) *recording {
	folders := min(20, count/4)
	cwd := fmt.Sprintf("/home/dev/code/%s.%02d", vocabulary[i%folders*5], i%folders)
	r := &recording{
		projects: p, cwd: cwd, project: sessionfile.ProjectName(cwd), id: p.uuid(),
		branch: pick(p.generator, []string{"main", "feat/" + p.word(), "fix/" + p.word() + "-" + p.word()}),
		model:  pick(p.generator, models), version: "2.1.325", current: true,
		now:     time.Date(2026, time.August, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7 * time.Hour),
		context: p.between(18_000, 27_000), window: pick(p.generator, []int{60_000, 120_000, 165_000}),
		title: title(p.word()) + " " + p.word() + " " + p.word(),
	}
	if i%5 < 2 {
		r.version, r.current = fmt.Sprintf("2.1.%d", p.between(100, 240)), false
	}
	r.gateway = p.gateways && i%3 == 1
	if kind := copyKind(i%8) - 5; kind >= forkSession && p.original != nil {
		r.copyOf, r.copied = p.original, kind
		r.cwd, r.project = p.original.cwd, p.original.project
	}
	return r
}

// keep makes a session the original of later copies, if it is long enough.
func (p *projects) keep(r *recording) {
	if r.copyOf == nil && len(r.kept) >= maxKept {
		p.original = r
	}
	if p.original != r {
		r.kept = nil
	}
}

// path returns the place of a file of the session's project.
func (r *recording) path(names ...string) string {
	return filepath.Join(append([]string{r.dir, r.project}, names...)...)
}

// record writes the session, about target bytes.
func (r *recording) record(target int) error {
	if err := r.create(r.path(r.id + ".jsonl")); err != nil {
		return err
	}
	r.book.session(r)
	r.scale = 0.5
	if target > 5_000_000 {
		r.scale = 1.6
	}
	if r.copyOf != nil {
		r.writeCopies()
	}
	r.startProcess()
	for turns := 0; r.err == nil && (turns == 0 || r.size < target); turns++ {
		r.turn(min(2+r.rng.IntN(14), 1+max(target-r.size, 0)/20_000))
		if r.oneIn(25) {
			r.endProcess()
			r.startProcess() // resumed
		}
	}
	r.endProcess()
	return r.finish()
}

// spill writes a long result into a separate file, and returns its path.
func (r *recording) spill(output string) string {
	path := r.path(r.id, "tool-results", "b"+r.hex(8)+".txt")
	r.fail(os.MkdirAll(filepath.Dir(path), 0o700))
	r.fail(os.WriteFile(path, []byte(output), 0o600))
	r.book.t.Spills++
	return path
}

// toolNames are the tools that a session has.
var toolNames = []string{"Agent", "Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "Write"}

// startProcess writes what an agent writes when it starts or takes up a session.
func (r *recording) startProcess() {
	r.process, r.spent = r.now, nil
	if !r.current {
		r.note("permission-mode", "permissionMode", "default")
		r.attach("hook_success", 0, "hookName", "SessionStart:startup", "toolUseID", r.uuid(), "hookEvent", "SessionStart",
			"content", "", "stdout", "", "stderr", "", "exitCode", 0, "command", "echo", "durationMs", r.between(10, 90))
		r.attach("skill_listing", 0, "content", r.words(2000), "skillCount", 12, "isInitial", true)
		return
	}
	r.attach("environment", 700, "snapshot", object{"workingDirectory", r.cwd, "isWorktree", false, "platform", "linux"})
	r.attach("model", 150, "identity", object{"modelId", r.model, "marketingName", "Model", "knowledgeCutoff",
		"June 2026"})
	r.attach("deferred_tools_delta", 400, "addedNames", []string{"Monitor", "NotebookEdit", "TaskStop", "WebSearch"},
		"removedNames", []string{})
	r.attach("agent_listing_delta", 1200, "addedTypes", []string{"Explore", "general-purpose", "Plan"}, "removedTypes",
		[]string{}, "isInitial", true)
	r.attach("skill_listing", 2000, "content", r.words(2000), "skillCount", 13, "isInitial", true)
	r.note("atis-latch", "atis", "")
	r.attach("session_context", 0, "context", object{})
	r.attach("date", 60, "date", r.now.Format("2006-01-02"))
	r.snapshot()
	r.shape()
}

// endProcess writes what an agent writes at its end.
func (r *recording) endProcess() {
	if !r.current {
		return
	}
	usage := object{}
	for _, model := range models {
		if t, ok := r.spent[model]; ok {
			usage = append(usage, model, object{"inputTokens", t.Input, "outputTokens", t.Output, "cacheReadInputTokens",
				t.CacheRead,
				"cacheCreationInputTokens", t.CacheWrite, "webSearchRequests", 0, "costUSD", float64(t.Total()) / 1e6})
		}
	}
	r.note("cost-state", "totalCostUSD", 1.25, "totalAPIDuration", r.between(1e3, 1e6), "totalDuration",
		int(r.now.Sub(r.process).Milliseconds()),
		"startTime", int(r.process.UnixMilli()), "modelUsage", usage, "hasUnknownModelCost", false)
}

// snapshot writes the prompt that the model was given.
func (r *recording) snapshot() {
	prompt := []string{r.words(1200), r.words(800)}
	r.attach("prompt_snapshot", 0, "systemPrompt", prompt, "reminderFold", false, "contextRendering", "announced")
}

// shape writes what the agent's requests to the API have in common.
func (r *recording) shape() {
	var tools []object
	for _, name := range toolNames {
		properties := object{"input", object{"description", r.words(80), "type", "string"}}
		schema := object{"type", "object", "properties", properties}
		tools = append(tools, object{"name", name, "description", r.words(300), "input_schema", schema})
	}
	r.note("api-request-shape", "shapeHash", r.hex(32), "timestamp", r.stamp(), "version", r.version,
		"shape", object{"system", []object{{"type", "text", "text", r.words(1500)}}, "tools", tools})
}

// ask writes down a request to the API.
func (r *recording) ask() {
	if !r.current {
		return
	}
	var tail []string
	for range r.between(1, 2) {
		hash := r.hex(32) + r.hex(32)
		r.note("api-request-blob", "hash", hash, "message", object{"role", "user", "content",
			[]object{{"type", "text", "text", r.words(200)}}})
		tail = append(tail, hash)
	}
	r.request = r.uuid()
	r.note("api-request", "id", r.request, "timestamp", r.stamp(), "version", r.version, "querySource", "sdk",
		"params", object{"model", r.model, "max_tokens", 128_000}, "keep", r.rng.IntN(9), "tail", tail)
}

// compact replaces what was said by a summary.
func (r *recording) compact() {
	logical := r.parent
	r.parent = nil
	r.entry("system/compact_boundary", object{logical, "type", "system", "subtype", "compact_boundary", "content",
		"Conversation compacted"},
		object{"isMeta", false, "level", "info", "compactMetadata",
			object{"trigger", "auto", "preTokens", r.context, "postTokens", 21_000, "durationMs", 61_000}}, keptEntry{})
	r.wait(200, 900)
	r.user("This session is being continued from a previous conversation that ran out of context. Summary:\n"+
		r.words(6000), "isVisibleInTranscriptOnly", true, "isCompactSummary", true)
	r.context = r.between(21_000, 27_000)
	r.book.change(r.id, func(s *SessionTruth) { s.Compactions++ })
}

// bookkeeping writes the lines that follow a turn.
func (r *recording) bookkeeping(prompt string) {
	prompt = strings.TrimSpace(prompt)
	r.note("last-prompt", "lastPrompt", prompt[:min(len(prompt), 60)], "leafUuid", r.parent)
	r.note("ai-title", "aiTitle", r.title)
	if r.current {
		r.note("atis-latch", "atis", "")
		r.note("tools-used", "tools", r.used)
		return
	}
	r.note("mode", "mode", "normal")
	r.note("permission-mode", "permissionMode", "default")
}

const (
	noiseLine = 512 << 10
	nulRun    = 4 << 20
)

// HugeProject fills dir with one session, whose transcript has about size bytes: two turns, and
// between them progress of tools that repeats everything that a subagent has said, and runs of NUL
// bytes, as a crash leaves them. Such transcripts exist.
func HugeProject(dir string, seed uint64, size int) (*Truth, error) {
	p := &projects{generator: newGenerator(nil, seed), dir: dir, book: newBook()}
	p.texts(size)
	r := p.newRecording(0, 10)
	if err := r.create(r.path(r.id + ".jsonl")); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	r.book.session(r)
	r.startProcess()
	r.turn(2)
	r.noise(size)
	r.turn(2)
	r.endProcess()
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return p.book.truth(), nil
}

// noise writes lines of progress until the transcript has that size. To be fast, they differ only
// in their UUIDs.
func (r *recording) noise(size int) {
	last, uuid := fmt.Sprint(r.parent), r.uuid()
	message := object{"type", "user", "message", object{"role", "user", "content", r.output(noiseLine)}}
	data := object{"type", "agent_progress", "agentId", "a" + r.hex(16), "normalizedMessages", []object{message}}
	r.line = append(object{"parentUuid", last, "isSidechain", false, "type", "progress", "data", data, "toolUseID",
		r.newID("toolu_01"),
		"uuid", uuid, "timestamp", r.stamp(), "sessionId", r.id, "version", r.version}.append(r.line[:0]), '\n')
	parentAt, uuidAt := bytes.Index(r.line, []byte(last)), bytes.LastIndex(r.line, []byte(uuid))
	nuls := make([]byte, nulRun)
	for i := 0; r.err == nil && r.size < size; i++ {
		if i%32 == 16 && size > 4*nulRun {
			_, err := r.out.Write(nuls)
			r.fail(err)
			r.size += nulRun
		}
		copy(r.line[parentAt:], last)
		copy(r.line[uuidAt:], uuid)
		_, err := r.out.Write(r.line)
		r.fail(err)
		r.size += len(r.line)
		r.book.line("progress", len(r.line))
		last, uuid = uuid, r.uuid()
	}
	r.parent = last
}

// A copyKind is the way in which the start of a session was copied into another one.
type copyKind int

const (
	// forkSession repeats the entries under the new session's ID, and marks them as entries of a
	// background session.
	forkSession copyKind = iota
	// forkSDK gives the entries new UUIDs, and names their origin.
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

// writeCopies starts the session with the start of another session of the same project.
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

// replay writes a transcript of a subagent that repeats the beginning of the session: for a
// question on the side, under its own requests, or for a compaction.
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

// subagent lets a subagent work on a prompt, and returns its ID and its answer. It may start
// another one.
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

// meta returns the facts about a subagent that parent has started.
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
