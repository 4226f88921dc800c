package view_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/sessions"
)

// A listSource has sessions in memory, and notes what is read.
type listSource struct {
	lists chan []sessions.SessionInfo

	mu      sync.Mutex
	read    []string
	running []sessions.RunningSession
	looks   int
	bytes   int64           // of the transcripts of each session
	pace    []time.Duration // of the reads of summaries
	held    chan struct{}   // agents are read once it is closed; nil means at once
	// reads gets each read of agents, which returns what it is sent. Nil means that they are not read so.
	reads chan chan []sessions.RunningSession
}

func (s *listSource) List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error] {
	return func(yield func([]sessions.SessionInfo, error) bool) {
		for {
			select {
			case infos := <-s.lists:
				if !yield(infos, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *listSource) note(what string, infos []sessions.SessionInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = append(s.read, fmt.Sprintf("%s %d from %s", what, len(infos), infos[0].ID))
}

func (s *listSource) notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read)
}

func (s *listSource) Summarize(_ context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo {
	s.note("summaries", infos)
	if len(s.pace) > 0 {
		pace := s.pace[0]
		s.pace = s.pace[1:]
		time.Sleep(pace)
	}
	return infos
}

func (s *listSource) Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	s.note("figures", infos)
	figures := make([]sessions.Figures, len(infos))
	for i, size := range s.Sizes(ctx, infos) {
		figures[i].Bytes = size
	}
	return figures
}

func (s *listSource) Sizes(_ context.Context, infos []sessions.SessionInfo) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Repeat([]int64{s.bytes}, len(infos))
}

func (s *listSource) Running(ctx context.Context) ([]sessions.RunningSession, error) {
	if s.held != nil {
		select {
		case <-s.held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.reads != nil {
		answer := make(chan []sessions.RunningSession)
		s.reads <- answer
		return <-answer, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.running, nil
}

func (s *listSource) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func someInfos(n int) (infos []sessions.SessionInfo) {
	for i := range n {
		infos = append(infos, info(fmt.Sprint("s", i), time.Duration(i)*time.Hour))
	}
	return infos
}

// A listing reads names, then what is visible, then the rest, and nothing twice.
func TestListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1)}
		var mu sync.Mutex
		named := 0
		l := view.NewListing(ctx, source, &mu, time.Now, func() { named++ })
		done := l.Hurry() // a request waits
		source.lists <- someInfos(150)
		if err := l.Open(ctx); err != nil {
			t.Fatal(err)
		}
		l.Want(l.Order[140:])
		mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := source.notes(); len(got) > 0 {
			t.Errorf("during a request: %q", got)
		}
		done()
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		l.Want(l.Order[140:])
		mu.Unlock()
		synctest.Wait()
		want := []string{"figures 8 from s140", "figures 2 from s148", "summaries 10 from s140", "summaries 100 from s0", "summaries 40 from s100"}
		read := source.notes() // figures are counted while summaries are read
		slices.SortStableFunc(read, func(a, b string) int { return cmp.Compare(a[0], b[0]) })
		if diff := gocmp.Diff(want, read); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
		source.lists <- someInfos(145) // some visible sessions are gone
		synctest.Wait()
		if named != 2 || len(source.notes()) != len(want) {
			t.Errorf("%d lists, reads %q", named, source.notes())
		}
		cancel()
		l.Close()
	})
}

// The summaries of many sessions that nobody sees are announced together, after a while or when there are no more. Those of
// visible sessions are announced at once, and figures apart.
func TestSummariesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		const ms = time.Millisecond
		began := time.Now()
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1)}
		source.pace = []time.Duration{45 * ms, 45 * ms, 910 * ms, 45 * ms, 45 * ms, 45 * ms, 45 * ms}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(600)
		if err := l.Open(ctx); err != nil {
			t.Fatal(err)
		}
		mu.Unlock()
		for _, step := range []struct {
			at         time.Duration
			rows, left int
		}{
			{1 * ms, 1, 600}, {50 * ms, 2, 500}, {100 * ms, 2, 400}, {280 * ms, 2, 400}, {300 * ms, 3, 400},
			{1010 * ms, 4, 300},                    // after a slow read
			{1050 * ms, 5, 290},                    // the visible ones
			{1140 * ms, 5, 90},                     // two reads later
			{1190 * ms, 6, 0}, {time.Minute, 6, 0}, // the last ones
		} {
			if step.rows == 4 { // while the next ones are read
				mu.Lock()
				l.Want(l.Order[590:])
				mu.Unlock()
			}
			time.Sleep(time.Until(began.Add(step.at)))
			synctest.Wait()
			mu.Lock()
			if left := len(l.Unread(600)); l.RowsRevision != step.rows || left != step.left {
				t.Errorf("after %v: revision %d of the rows, %d sessions unread; want %d, %d", step.at, l.RowsRevision, left, step.rows, step.left)
			}
			mu.Unlock()
		}
		mu.Lock()
		if l.Revision <= l.RowsRevision || l.Order[599].Figures == nil {
			t.Errorf("revision %d, %d of the rows: the figures were not announced", l.Revision, l.RowsRevision)
		}
		mu.Unlock()
		cancel()
		l.Close()
	})
}

// Visible sessions are counted again after their subagents have written, and only then.
func TestSubagentsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1), bytes: 100}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(2)
		ended := make(chan error)
		go func() { ended <- l.Watch(ctx, 0, func(int) {}) }()
		synctest.Wait()
		mu.Lock()
		l.Want(l.Order[:1])
		mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []string{"summaries 2 from s0", "figures 1 from s0"}
		if diff := gocmp.Diff(want, source.notes()); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
		source.mu.Lock()
		source.bytes = 150
		source.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := gocmp.Diff(append(want, "figures 1 from s0"), source.notes()); diff != "" {
			t.Errorf("reads after a subagent has written (-want +got):\n%s", diff)
		}
		mu.Lock()
		if n := l.Order[0].Figures.Bytes; n != 150 {
			t.Errorf("%d bytes are counted", n)
		}
		mu.Unlock()
		cancel()
		<-ended
		l.Close()
	})
}

// Watch reports changes, no faster than its pace, and looks at agents while it runs: more often if there are some.
func TestWatchListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1)}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(1)
		revisions := make(chan int, 100)
		ended := make(chan error)
		go func() { ended <- l.Watch(ctx, time.Second, func(revision int) { revisions <- revision }) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(revisions); n == 0 || n > 3 {
			t.Errorf("%d changes", n)
		}
		before := source.looked()
		time.Sleep(10 * time.Minute)
		if n := source.looked() - before; n < 9 || n > 11 {
			t.Errorf("%d looks in ten minutes without an agent", n)
		}
		source.mu.Lock()
		source.running = []sessions.RunningSession{{ID: "s0", Status: "busy"}}
		source.mu.Unlock()
		mu.Lock()
		l.LookAgain()
		mu.Unlock()
		before = source.looked()
		time.Sleep(10 * time.Minute)
		if n := source.looked() - before; n < 50 || n > 65 {
			t.Errorf("%d looks in ten minutes with an agent", n)
		}
		mu.Lock()
		if !l.State(l.Order[0]).Working() {
			t.Error("the agent is not seen")
		}
		mu.Unlock()
		cancel()
		if err := <-ended; err == nil {
			t.Error("no error at the end")
		}
		l.Close()
	})
}

// An agent that was killed writes nothing more: by its transcript, it works for two minutes.
func TestQuietAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1)}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		infos := someInfos(2)
		for i := range infos {
			infos[i].Modified, infos[i].Ongoing = time.Now(), true
		}
		infos[1].LastTime = time.Now().Add(-30 * time.Second)
		source.lists <- infos
		var told atomic.Int64
		ended := make(chan error)
		go func() { ended <- l.Watch(ctx, 0, func(revision int) { told.Store(int64(revision)) }) }()
		live := func() (ids []string) {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for _, e := range l.Live() {
				if l.State(e).Working() {
					ids = append(ids, e.ID)
				}
			}
			return ids
		}
		time.Sleep(89 * time.Second)
		if diff := gocmp.Diff([]string{"s0", "s1"}, live()); diff != "" {
			t.Errorf("live after a while (-want +got):\n%s", diff)
		}
		for _, want := range [][]string{{"s0"}, nil} {
			before := told.Load()
			time.Sleep(time.Second)
			if diff := gocmp.Diff(want, live()); diff != "" || told.Load() == before {
				t.Errorf("live at %v, told %d after %d (-want +got):\n%s", time.Now(), told.Load(), before, diff)
			}
			time.Sleep(29 * time.Second)
		}
		cancel()
		<-ended
		l.Close()
	})
}

// A request that ends while it reads the states of agents doesn't cost others these states.
func TestLookIsForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{
			lists: make(chan []sessions.SessionInfo, 1), held: make(chan struct{}),
			running: []sessions.RunningSession{{ID: "s0", Status: "busy"}},
		}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(1)
		request, end := context.WithCancel(ctx)
		ended := make(chan error)
		go func() { ended <- l.Watch(request, 0, func(int) {}) }()
		synctest.Wait() // it looks
		end()
		synctest.Wait()
		close(source.held)
		<-ended
		mu.Lock()
		if !l.State(l.Order[0]).Working() {
			t.Error("the agent is not seen")
		}
		mu.Unlock()
		cancel()
		l.Close()
	})
}

// A wish to look again that comes while Watch looks is not lost.
func TestLookAgainMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1), held: make(chan struct{})}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(1)
		ended := make(chan error)
		go func() { ended <- l.Watch(ctx, 0, func(int) {}) }()
		synctest.Wait() // it looks
		mu.Lock()
		l.LookAgain()
		mu.Unlock()
		close(source.held)
		synctest.Wait()
		if n := source.looked(); n != 2 {
			t.Errorf("%d looks", n)
		}
		cancel()
		<-ended
		l.Close()
	})
}

// Of two looks at a time, the one that began later counts, whichever ends first.
func TestLooksInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := &listSource{lists: make(chan []sessions.SessionInfo, 1), reads: make(chan chan []sessions.RunningSession)}
		var mu sync.Mutex
		l := view.NewListing(ctx, source, &mu, time.Now, nil)
		source.lists <- someInfos(1)
		var looks sync.WaitGroup
		begin := func() chan []sessions.RunningSession {
			looks.Go(func() {
				if l.Open(ctx) == nil {
					l.LookNow()
					mu.Unlock()
				}
			})
			return <-source.reads
		}
		older, newer := begin(), begin()
		newer <- []sessions.RunningSession{{ID: "s0", Status: "waiting"}}
		synctest.Wait()
		older <- []sessions.RunningSession{{ID: "s0", Status: "busy"}}
		looks.Wait()
		mu.Lock()
		if state := l.State(l.Order[0]); !state.Waits {
			t.Errorf("got %+v", state)
		}
		mu.Unlock()
		cancel()
		l.Close()
	})
}
