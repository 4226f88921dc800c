package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// UsageOptions select the sessions that [ScanUsage] reads. Nil and the zero value mean all sessions
// in the agent's own files.
type UsageOptions struct {
	// Store has the sessions. Nil means the files in Roots.
	Store Store
	// Roots are directories of agents' settings, such as ~/.claude. Empty means the result of the
	// function [Roots]. They are ignored if Store is set.
	Roots []string
	// Project is the path of a working directory. Unlike in [Options], other working trees of its
	// repository don't count, but the jobs that count to its project do: see [Job]. Empty means all projects, which needs a store that is a
	// [ProjectLister].
	Project string
	// ProjectName is the name of the project in the store, with its jobs, as in [Options]. If it is
	// set, Project is ignored.
	ProjectName string
	// ProjectNames are the names of several projects in the store. If there are any, Project and
	// ProjectName are ignored.
	ProjectNames []string
	// Since and Until limit the answers by time: not before Since, and before Until. The zero time
	// means no limit. All transcripts are read in any case, since a copy of an answer in another
	// file may be more complete.
	Since, Until time.Time
	// Offsets are the ends of an earlier scan, by path, as in [UsageScan.Offsets]: only lines
	// appended since are read. A transcript that has become shorter is read from its start. They
	// are ignored for a store that is not a [Folder]. Nil means that nothing was read before.
	//
	// Such a scan counts an answer again if it finds another line of it. To count it once, add the
	// calls of [usage.Tally.Copies] to the tally of the scans before.
	Offsets map[string]int64
	// ModifiedSince leaves out transcripts that were not modified since. No answer in them is newer.
	// It is ignored for a store that is not a [Folder]. The zero time means no limit.
	ModifiedSince time.Time
	// Tools specifies whether tool calls are counted as well, which takes longer.
	Tools bool
	// Progress is called from time to time with the bytes read so far and their total. The total is
	// 0 for a store that is not a [Folder]. It is never called twice at the same time, and reading
	// waits until it returns. Nil means that nothing is called.
	Progress func(done, total int64)
}

// A UsageScan has the use of the model that [ScanUsage] found in transcripts. Pass Tally.Calls() on
// to compute costs and reports.
type UsageScan struct {
	// Tally has each answer of the model once. Project, SessionID and AgentID of a call name the
	// transcript that it was found in.
	Tally usage.Tally
	// CostStates are the agent's own accounts of its usage, for [usage.Reconcile]. They cover whole
	// sessions: Since and Until don't limit them.
	CostStates []usage.CostState
	// Tools has each tool call once, if [UsageOptions.Tools] is set. Since and Until don't limit
	// them.
	Tools usage.ToolTally
	// Limits are the usage limits of the account that refused a request, by time. Since and Until
	// don't limit them.
	Limits []ReachedLimit
	// Files is the number of transcripts that were read, including subagent transcripts.
	Files int
	// Bytes is the size of these transcripts. For a store that is not a [Folder] it is the length
	// of their entries.
	Bytes int64
	// Offsets are the ends of the scan, by path: the end of the last complete line. Pass them to
	// the next scan. They are nil for a store that is not a [Folder].
	Offsets map[string]int64
	// BadLines is the number of lines that are not entries. They count for nothing, so the totals
	// may be a little too low if there are any.
	BadLines int
	// Bad has the first thousand of these lines, sorted by path and offset.
	Bad []BadLine
	// Unread has an error for each file or directory that could not be read, or not completely. The
	// totals are too low if there are any.
	Unread []error
}

// A ReachedLimit is a usage limit of the account that refused a request. The agent writes it down
// with the error that it shows; how much of a limit is used before that is in no transcript.
type ReachedLimit struct {
	// Time is the time of the refusal, or the zero time if the line has none.
	Time time.Time
	// Type is the limit, such as [wire.RateLimitFiveHour], or "".
	Type wire.RateLimitType
	// ResetsAt is the time when the limit resets.
	ResetsAt time.Time
}

// A BadLine is a line of a transcript that is not an entry.
type BadLine struct {
	// Path is the path of the file, or for a store that is not a [Folder] the path that the file
	// would have in the directory of the projects.
	Path string
	// Line is the number of the line, from 1.
	Line int
	// Offset is the offset in the file at which the line starts, in bytes.
	Offset int64
	// Torn reports whether it is the last line and incomplete: the agent is just writing it, or a
	// crash has cut it.
	Torn bool
	// Err explains why the line is not an entry.
	Err error
}

// maxBad is the maximum length of UsageScan.Bad.
const maxBad = 1000

// ScanUsage reads all transcripts of all sessions, including subagent transcripts, and returns the
// use of the model. Each answer counts once, no matter how many lines and files have it.
// Transcripts of compactions are left out, since they repeat a conversation.
//
//	scan, err := sessions.ScanUsage(ctx, &sessions.UsageOptions{Since: monday})
//	if err != nil {
//		return err
//	}
//	for _, call := range scan.Tally.Calls() {
//		fmt.Println(call.Time, call.Project, call.Model, call.Usage.OutputTokens)
//	}
//
// It uses as many goroutines as there are processors, and little memory. It blocks until everything
// is read. Lines that are not entries and files that can't be read are in the result, not in the
// error. The error is the context's error, or the error of a store that can't list its sessions. If
// the context ends while files are read, the result covers everything read until then, and Offsets
// is where the next scan continues; it is nil with any other error. opts may be nil.
func ScanUsage(ctx context.Context, opts *UsageOptions) (*UsageScan, error) {
	if opts == nil {
		opts = new(UsageOptions)
	}
	where, err := opts.scopes()
	if err != nil {
		return nil, err
	}
	report := new(UsageScan)
	if _, ok := where[0].store.(*Folder); ok {
		err = report.readFolders(ctx, opts, where)
	} else {
		err = report.readStore(ctx, opts, where[0])
	}
	if err != nil && report.Offsets == nil {
		return nil, err
	}
	report.sort()
	report.limit(opts.Since, opts.Until)
	return report, err
}

// scopes returns where to read: one store, or any number of Folders.
func (o *UsageOptions) scopes() (scopes, error) {
	where := Options{Store: o.Store, Project: o.Project, ProjectName: o.ProjectName}
	if len(o.ProjectNames) > 0 {
		where.Project, where.ProjectName = "", ""
	}
	all, err := o.scopesOf(where)
	for i := range all {
		s := &all[i]
		if len(o.ProjectNames) > 0 {
			s.names = o.ProjectNames
		}
		if s.jobs == nil { // the answers of jobs are labeled in any case
			s.addJobs()
		}
	}
	return all, err
}

func (o *UsageOptions) scopesOf(where Options) (scopes, error) {
	if o.Store != nil || len(o.Roots) == 0 {
		return where.scopes(false)
	}
	var all scopes
	for _, root := range o.Roots {
		where.Store = NewFolder(filepath.Join(root, sessionfile.Folder))
		in, err := where.scopes(false)
		if err != nil {
			return nil, err
		}
		all = append(all, in...)
	}
	return all, nil
}

// limit keeps only the answers in a span of time.
func (r *UsageScan) limit(since, until time.Time) {
	if since.IsZero() && until.IsZero() {
		return
	}
	calls := r.Tally.Calls()
	r.Tally = usage.Tally{}
	for _, c := range calls {
		if !c.Time.Before(since) && (until.IsZero() || c.Time.Before(until)) {
			r.Tally.Add(c)
		}
	}
}

// bad counts a bad line, and reports whether it was added to Bad.
func (r *UsageScan) bad(l BadLine) bool {
	r.BadLines++
	if len(r.Bad) == maxBad {
		return false
	}
	r.Bad = append(r.Bad, l)
	return true
}

// A usageCounter adds up entries. The zero value is ready.
type usageCounter struct {
	withTools bool
	tools     usage.ToolTally
	tally     usage.Tally
	states    []usage.CostState
	limits    []ReachedLimit
	decoder   usage.CallDecoder
}

// entry adds up one entry: an answer of the model, the agent's account of its costs, or a limit
// that was reached.
func (u *usageCounter) entry(p *usageSegment, text []byte) error {
	p.noteStart(text)
	c, ok, err := u.decoder.Decode(text)
	if kind := u.decoder.EntryType(); u.withTools && err == nil && (kind == "assistant" || kind == "user") {
		u.tools.AddLine(text)
	}
	if ok {
		u.tally.Add(p.locate(c))
		return err
	}
	switch u.decoder.EntryType() {
	case "cost-state":
		if state, ok := costStateOf(text); ok {
			u.states = append(u.states, state)
		}
	case "assistant":
		if limit, ok := limitOf(text); ok {
			u.limits = append(u.limits, limit)
		}
	}
	return err
}

// add adds what a counter found to the report.
func (r *UsageScan) add(u *usageCounter) {
	r.Tally.Merge(&u.tally)
	r.Tools.Merge(&u.tools)
	r.CostStates = append(r.CostStates, u.states...)
	r.Limits = append(r.Limits, u.limits...)
}

// costStateOf returns the agent's account in a line, if it has one.
func costStateOf(line []byte) (usage.CostState, bool) {
	entry, err := transcript.DecodeEntry(line)
	if err != nil {
		return usage.CostState{}, false
	}
	return transcript.CostStateOf(&entry)
}

// limitOf returns the limit that an error of the agent reports, if it does.
func limitOf(line []byte) (ReachedLimit, bool) {
	text := jsonlex.Lookup(line, 0, "quotaLimits")
	if text == nil {
		return ReachedLimit{}, false
	}
	var info struct {
		Status        wire.RateLimitStatus
		RateLimitType wire.RateLimitType
		ResetsAt      int64
	}
	err := json.Unmarshal(text, &info)
	if err != nil || info.Status != wire.RateLimitRejected || info.ResetsAt <= 0 || info.ResetsAt > maxUnixTime {
		return ReachedLimit{}, false
	}
	limit := ReachedLimit{Type: info.RateLimitType, ResetsAt: time.Unix(info.ResetsAt, 0).UTC()}
	at, _ := jsonlex.Unquote(jsonlex.Lookup(line, 0, entrylex.KeyTimestamp))
	limit.Time, _ = time.Parse(time.RFC3339, string(at))
	return limit, true
}

// maxUnixTime is the last second of the year 9999.
const maxUnixTime = 253402300799

// sort sorts accounts, limits, bad lines and errors.
func (r *UsageScan) sort() {
	slices.SortFunc(r.Unread, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	// Each segment of a file that can't be read adds the same error.
	r.Unread = slices.CompactFunc(r.Unread, func(a, b error) bool { return a.Error() == b.Error() })
	slices.SortStableFunc(r.CostStates, func(a, b usage.CostState) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Duration, b.Duration))
	})
	slices.SortFunc(r.Limits, func(a, b ReachedLimit) int {
		return cmp.Or(a.Time.Compare(b.Time), a.ResetsAt.Compare(b.ResetsAt), cmp.Compare(a.Type, b.Type))
	})
	slices.SortFunc(r.Bad, func(a, b BadLine) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line))
	})
}

// readStore reads a store that is not a Folder, one transcript after the other.
func (r *UsageScan) readStore(ctx context.Context, opts *UsageOptions, s scope) error {
	projects, err := s.projects(ctx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		ids, err := s.store.Sessions(ctx, project)
		if err != nil {
			return err
		}
		for id := range ids {
			if err := r.readSession(ctx, opts, wire.SessionKey{Project: project, SessionID: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSession reads the transcripts of one session.
func (r *UsageScan) readSession(ctx context.Context, opts *UsageOptions, key wire.SessionKey) error {
	subpaths, err := opts.Store.Subpaths(ctx, key)
	if err != nil {
		return err
	}
	for _, subpath := range append([]string{""}, subpaths...) {
		key.Subpath = subpath
		segment, ok := newUsageSegment(sessionfile.Path(key))
		if !ok {
			continue
		}
		if err := r.readTranscript(ctx, opts, key, segment); err != nil {
			return err
		}
	}
	return nil
}

// readTranscript reads one transcript. An error of the store is added to Unread; only the end of
// the context stops the scan.
func (r *UsageScan) readTranscript(ctx context.Context, opts *UsageOptions, key wire.SessionKey,
	segment usageSegment) error {
	counter := usageCounter{withTools: opts.Tools}
	defer r.add(&counter)
	r.Files++
	number := 0
	for entry, err := range opts.Store.Load(ctx, key) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.Unread = append(r.Unread, err)
			break
		}
		number++
		r.Bytes += int64(len(entry))
		if err := counter.entry(&segment, []byte(entry)); err != nil {
			r.bad(BadLine{Path: segment.name, Line: number, Err: err})
		}
	}
	if opts.Progress != nil {
		opts.Progress(r.Bytes, 0)
	}
	return nil
}
