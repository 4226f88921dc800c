package ask

import "testing"

// A rule can be narrowed, and not widened.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		than, text string
		narrower   bool
	}{
		{"Bash(go test:*)", "Bash(go test:*)", true},
		{"Bash(go test:*)", "Bash(go test ./upload:*)", true},
		{"Bash(go test:*)", "Bash(go test ./upload)", true},
		{"Bash(mkdir blue *)", "Bash(mkdir blue green)", true},
		{"Edit(upload/**)", "Edit(upload/server.go)", true},
		{"Edit(upload/**)", "Edit(upload/../**)", false},
		{"Edit(upload/**)", "Edit(**)", false},
		{"Bash(go test:*)", "Bash(go:*)", false},
		{"Bash(go test:*)", "Bash(go test*)", false},
		{"Bash(go test:*)", "Bash(go tests:*)", false},
		{"Bash(go test:*)", "Bash", false},
		{"Bash(go test:*)", "Bash()", false},
		{"Bash(go test:*)", "Bash(go test", false},
		{"Bash(go test:*)", "Read(go test)", false},
		{"Bash(go test)", "Bash(go test ./...)", false},
		{"WebFetch", "WebFetch(domain:example.com)", true},
		{"WebFetch", "Bash", false},
		{"WebFetch", "", false},
	} {
		than, ok := parseRule(tt.than)
		if !ok {
			t.Fatal(tt.than)
		}
		if _, err := narrowed(tt.text, than); (err == nil) != tt.narrower {
			t.Errorf("%s instead of %s: %v", tt.text, tt.than, err)
		}
	}
}
