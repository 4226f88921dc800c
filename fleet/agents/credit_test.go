package agents_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/sessions"
)

// Before the agent starts on its prompt, the job is recorded beside the transcript that it names, so that what it costs
// counts to its repository. A transcript that is not on this machine does no harm.
func TestJobIsRecorded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ missing, isURL bool }{
		"on this machine": {}, "in a container": {missing: true}, "a file URL": {isURL: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				real, evalErr := filepath.EvalSymlinks(s.repo)
				if tt.isURL {
					if filepath.Separator != '/' {
						t.Skip("the URL of a directory with a drive is refused")
					}
					s.repo = (&url.URL{Scheme: "file", Path: s.repo}).String()
				}
				config := filepath.Join(t.TempDir(), "agent")
				if !tt.missing {
					if err := os.Mkdir(config, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				dir := filepath.Join(config, "projects", "p")
				s.calls = func(a *clewtest.Scenario) *clewtest.Scenario {
					path, err := json.Marshal(filepath.Join(dir, s.session+".jsonl"))
					if err != nil {
						t.Error(err)
					}
					return a.Send(fmt.Sprintf(`{"type":"control_request","request_id":"prompt","request":{"subtype":"hook_callback",`+
						`"callback_id":"hook_1","input":{"hook_event_name":"UserPromptSubmit","prompt":"Work.","transcript_path":%s}}}`, path)).
						Expect(`{"type":"control_response","response":{"subtype":"success","request_id":"prompt"}}`).Send(worked)
				}
				s.work()
				id := s.submit(fleet.Hold)
				s.checkDone(id)
				text, err := os.ReadFile(filepath.Join(dir, s.session, "job.json"))
				if tt.missing {
					if !os.IsNotExist(err) {
						t.Errorf("%s, %v", text, err)
					}
					return
				}
				var got sessions.Job
				if err == nil {
					err = json.Unmarshal(text, &got)
				}
				want := sessions.Job{ID: id, Attempt: 1, Repository: s.repo, Directory: real}
				if diff := cmp.Diff(want, got); diff != "" || err != nil || evalErr != nil {
					t.Errorf("%v, %v (-want +got):\n%s", err, evalErr, diff)
				}
			})
		})
	}
}
