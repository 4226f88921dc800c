package archive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzManifest decodes manifests. One that is accepted names only files of its session, and is the
// same after it was encoded again.
func FuzzManifest(f *testing.F) {
	id := "00000000-0000-4000-8000-000000000001"
	hash := strings.Repeat("0a", 32)
	f.Add([]byte(`{"format":1,"machine":"m","project":"p","session":"` + id + `","saved":"2026-01-02T03:04:05Z","files":[` +
		`{"path":"projects/p/` + id + `.jsonl","size":3,"modified":"2026-01-02T03:04:05Z","segments":[` +
		`{"size":3,"sha256":"` + hash + `","blob":"` + hash + `","at":0,"stored":9}],"old":[{"size":0}]}]}`))
	f.Add([]byte(`{"format":1,"machine":"m","project":"p","session":"` + id + `","files":[{"path":"../x"}]}`))
	f.Add([]byte(`{}`))
	key := Key{"m", "p", id}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSession(Manifest{Key: key, Data: data, Revision: "1"})
		if err != nil {
			return
		}
		for _, file := range s.Files {
			if strings.Contains("/"+file.Path+"/", "/../") || !strings.Contains(file.Path, id) && !strings.HasPrefix(file.Path, "projects/p/agent-") {
				t.Errorf("%q was accepted", file.Path)
			}
		}
		text, err := s.encode()
		if err != nil {
			t.Skip("a time that JSON can't have") // such as one in the year 10000
		}
		again, err := decodeSession(Manifest{Key: key, Data: text, Revision: "1"})
		if err != nil {
			t.Fatal(err)
		}
		opts := cmp.Options{cmp.AllowUnexported(Session{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(s, again, opts); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	})
}

func TestMachineOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"box": "box", "box.example.com": "box", "": "unknown", "Mäx' box": "M-x--box", strings.Repeat("a", 99): strings.Repeat("a", 63), "..": "unknown",
	} {
		if got := machineOf(host); got != want || CheckMachine(got) != nil {
			t.Errorf("%q: got %q", host, got)
		}
	}
}

// TestSessionJSON pins the names in a manifest: archives outlive programs.
func TestSessionJSON(t *testing.T) {
	t.Parallel()
	s := Session{Format: 1, Key: Key{"m", "p", "s"}, Files: []File{{
		Path: "x", Segments: []Segment{{1, "h", "b", 2, 3}}, Old: []Generation{{Size: 1}},
	}}}
	data, err := json.Marshal(s)
	const zero = `"0001-01-01T00:00:00Z"`
	want := `{"format":1,"machine":"m","project":"p","session":"s","saved":` + zero + `,"files":[{"path":"x","size":0,"modified":` + zero +
		`,"segments":[{"size":1,"sha256":"h","blob":"b","at":2,"stored":3}],"old":[{"size":1,"modified":` + zero + `,"replaced":` + zero + `}]}]}`
	if diff := cmp.Diff(want, string(data)); diff != "" || err != nil {
		t.Error("(-want +got)\n", diff, err)
	}
}
