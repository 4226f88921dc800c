package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// foundHit returns a hit whose text has the word "mutex".
func foundHit(session, text string, age time.Duration) search.Hit {
	h := search.Hit{
		File:      &sessions.File{Project: "-home-dev-uploader", Path: "/agent/projects/-home-dev-uploader/x.jsonl"},
		SessionID: session + "-0000-4000-8000-000000000001", Directory: "uploader", Line: 12, Turn: 3,
		Time: clitest.Now.Add(-age), Role: search.Answer, Text: text,
	}
	for at := strings.Index(text, "mutex"); at >= 0 && len(h.Matches) == 0; {
		h.Matches = append(h.Matches, search.Span{Start: at, End: at + len("mutex")})
	}
	return h
}

// shownGroups returns the groups of hits in two sessions.
func shownGroups() []*hitGroup {
	hits := []search.Hit{
		foundHit("de1b4c1c", "The client takes the mutex twice: once in Start and once in the callback, so it waits for itself.", 2*time.Hour),
		foundHit("95c1ed52", "A mutex", 30*24*time.Hour),
		foundHit("de1b4c1c", "=== RUN TestUpload\n\tdeadlock:\x1b[31m mutex is held\x1b[0m by goroutine 7", 3*time.Hour),
		foundHit("de1b4c1c", "Look for another mutex in 你好世界 and in the rest of the package as well.", 3*time.Hour),
	}
	hits[2].File = &sessions.File{Project: hits[2].File.Project, Path: "/agent/tool-results/b1.txt", Spill: true}
	hits[2].Role, hits[2].Tool = search.Tool, "Bash"
	hits[3].AgentID, hits[3].Role = "a0618b082132820bd", search.Prompt
	groups := groupHits(&search.Result{Hits: hits, Groups: []search.Group{
		{Project: "-home-dev-uploader", SessionID: hits[0].SessionID, Hits: 3, More: 1204},
		{Project: "-home-dev-uploader", SessionID: hits[1].SessionID, Hits: 1},
	}})
	groups[0].info.CustomTitle, groups[0].project = "Fix the flaky upload test, which fails one run in ten on the build machine", "uploader"
	groups[1].project, groups[1].path = "uploader", "/home/dev/.claude/projects/-home-dev-uploader/95c1ed52-0000-4000-8000-000000000001.jsonl"
	return groups
}

func groupsText(groups []*hitGroup, columns int, color bool) string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(g.text(clitest.Now, columns, color))
	}
	return b.String()
}

func TestSearchScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		golden.Check(t, fmt.Sprintf("screens/search_%d", width), groupsText(shownGroups(), width, false))
		golden.Check(t, fmt.Sprintf("screens/search_%d_color", width), groupsText(shownGroups(), width, true))
	}
}

// Whatever the texts and the width, no line is wider than the screen.
func TestSearchScreenFits(t *testing.T) {
	t.Parallel()
	groups := shownGroups()
	for _, text := range hostileTexts {
		hit := foundHit("ffffffff", text+" mutex "+text, time.Hour)
		hit.Tool, hit.AgentID, hit.File.Path = text, text, text
		groups = append(groups, &hitGroup{hits: []*search.Hit{&hit}, more: 7, atMost: true, project: text, path: text})
		groups[len(groups)-1].info.CustomTitle = text
	}
	for _, width := range soak.Widths(1) {
		checkLines(t, groupsText(groups, width, false), width)
	}
}

// A fork is marked beside its hits.
func TestSearchMarksForks(t *testing.T) {
	t.Parallel()
	groups := shownGroups()[:1]
	groups[0].info.ForkedFrom = "95c1ed52-0000-4000-8000-000000000001"
	if text := groupsText(groups, 80, false); !strings.Contains(text, "fork: Fix the flaky") {
		t.Error(text)
	}
}
