package sessions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func TestProjects(t *testing.T) {
	t.Parallel()
	store := sessions.NewMemory()
	said := wire.JSON(`{"type":"user","uuid":"u","cwd":"/home/me/code","message":{"role":"user","content":"Said"}}`)
	mustAppend(t, store, wire.SessionKey{Project: "-home-me-code", SessionID: id(1)}, said)
	mustAppend(t, store, wire.SessionKey{Project: "-home-me-code", SessionID: id(2)}, prompt(`"Said"`))
	mustAppend(t, store, wire.SessionKey{Project: "other", SessionID: id(3)}, wire.JSON(`{"type":"tag","tag":"x"}`))
	projects, err := sessions.Projects(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	want := []sessions.ProjectInfo{
		{Name: "other", Sessions: 1}, {Name: "-home-me-code", Directory: "/home/me/code", Sessions: 2},
	}
	byName := cmpopts.SortSlices(func(a, b sessions.ProjectInfo) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, projects, byName, cmpopts.IgnoreFields(sessions.ProjectInfo{}, "Modified")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
