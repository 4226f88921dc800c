package stores_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// BenchmarkRealMirror runs turns in three sessions of the real agent in alternation: without a
// store, without a store but with an agent that mirrors, and with a store. It reports the medians.
func BenchmarkRealMirror(b *testing.B) {
	mirroring := &clew.ProcessTransport{Wrap: func(launch *clew.Launch) error {
		launch.Args = append(launch.Args, "--session-mirror")
		return nil
	}}
	sessions := []*clew.Session{
		floodedSession(b, clew.Options{}),
		floodedSession(b, clew.Options{Transport: mirroring}),
		floodedSession(b, clew.Options{Store: clew.StoreOptions{Store: newMemory()}}),
	}
	took := make([][]time.Duration, len(sessions))
	for b.Loop() {
		for i, s := range sessions {
			began := time.Now()
			for _, err := range s.Turn(b.Context(), clew.Text("go")) {
				if err != nil {
					b.Fatal(err)
				}
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, unit := range []string{"ms/turn-without", "ms/turn-mirroring", "ms/turn-stored"} {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2].Seconds()*1000, unit)
	}
}

// floodedSession opens a session whose answers come in hundreds of pieces.
func floodedSession(b *testing.B, opts clew.Options) *clew.Session {
	b.Helper()
	model := clewtest.NewModel(b)
	model.On("go").Reply(clewtest.Text(strings.Repeat("All work and no play makes a dull answer. ", 250)))
	opts.AgentPath, opts.InheritEnv, opts.Env, opts.Dir = clewtest.RealAgent(b), []string{}, model.Env(), b.TempDir()
	opts.IncludePartialMessages = true
	s, err := clew.Connect(b.Context(), &opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}
