package transcript

// An assembly makes one transcript of entries: that of a session, or that of a subagent in the same file.
type assembly struct {
	classifier   classifier
	conversation conversation
	sidechains   sidechains
	tally        Tally
	context      contextAccount
	t            Transcript
}

func newAssembly(c classifier) *assembly {
	a := &assembly{classifier: c, conversation: conversation{tree: newTree()}}
	a.t.Noise, a.t.assembly = map[string]int{}, a
	return a
}

// maxInvalid and maxNoise bound the memory for a file that is no transcript.
const (
	maxInvalid = 1000
	maxNoise   = 1000
)

func (a *assembly) addInvalid(bad InvalidLine) {
	if len(a.t.Invalid) >= maxInvalid && !bad.Torn {
		a.count("invalid")
		return
	}
	a.t.Invalid = append(a.t.Invalid, bad)
}

// dropTorn forgets that the last line is torn: its rest may come now.
func (a *assembly) dropTorn() {
	if n := len(a.t.Invalid); n > 0 && a.t.Invalid[n-1].Torn {
		a.t.Invalid = a.t.Invalid[:n-1]
	}
}

// add takes an entry that knows its line. caller is the call that has started the subagent whose entry it is, in a
// running session.
func (a *assembly) add(e *Entry, caller string) {
	aside := e.Chained() && (caller != "" || a.isAside(e))
	a.t.Info.noteTime(e)
	if !aside {
		a.t.Info.note(e)
	}
	a.t.Drift.note(e)
	if call, ok := CallOf(e); ok {
		call.Forked = call.Forked || call.Time.Before(a.t.Created) // a fork begins with lines of its own
		a.tally.Add(call)
	}
	a.noteTask(e)
	switch {
	case !e.Chained():
		a.count(noiseName("", e.Type))
		a.noteRewind(e)
	case aside:
		a.sidechains.of(e, a.classifier, caller).add(e, "")
	default:
		a.addChained(e)
	}
}

// isAside reports whether the entry is that of a subagent whose conversation stands in the file of another. A transcript
// that begins with such an entry is that of the subagent itself.
func (a *assembly) isAside(e *Entry) bool {
	if len(a.conversation.tree.nodes) == 0 && len(a.sidechains.all) == 0 && e.IsSidechain {
		a.classifier.sidechain = true
	}
	return e.IsSidechain && !a.classifier.sidechain
}

// noteTask takes note of which call has started a task, if the entry tells that the task has ended.
func (a *assembly) noteTask(e *Entry) {
	task, call, ok := taskCall(e)
	if !ok {
		return
	}
	if a.t.TaskCalls == nil {
		a.t.TaskCalls = map[string]string{}
	}
	a.t.TaskCalls[task] = call
}

// noteRewind leaves behind what the entry says that a rewind has left behind. Usually the next prompt says so, too, by
// what it hangs on.
func (a *assembly) noteRewind(e *Entry) {
	if e.Type == "last-prompt" && trueAt(e.Raw, "rewound") {
		a.conversation.rewind(textAt(e.Raw, "cutUuid"))
	}
}

func (a *assembly) addChained(e *Entry) {
	if a.conversation.tree.has(e.UUID) {
		a.count("duplicate")
		return
	}
	d, noise := a.classifier.digest(e, e.Position)
	if d == nil {
		a.count(noise)
	}
	for range a.conversation.add(e, d) {
		a.count("superseded")
	}
	a.context.note(e, true)
}

// count counts an entry that shows nothing.
func (a *assembly) count(noise string) {
	if a.t.Noise[noise] == 0 && len(a.t.Noise) >= maxNoise {
		noise = "other"
	}
	a.t.Noise[noise]++
}

// transcript returns what was made so far.
func (a *assembly) transcript() *Transcript {
	a.t.Chunks, a.t.Branches = a.conversation.show()
	a.t.Sidechains = a.t.Sidechains[:0]
	for _, side := range a.sidechains.all {
		a.t.Sidechains = append(a.t.Sidechains, side.transcript())
	}
	return &a.t
}
