package engine

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
)

// TestConnectChoosesEngine gives places that no engine can connect to, before anything is connected.
func TestConnectChoosesEngine(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(secret, []byte(`{"user":"me","password":"hidden","rule":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		place Place
		want  string
	}{
		"scheme":      {Place{Name: "http://fleet.example"}, `--fleet has the unknown scheme "http"`},
		"no scheme":   {Place{Name: "me:hidden@a:4222,tls://b"}, "--fleet is not a valid URL"},
		"no host":     {Place{Name: "tls://"}, "--fleet is not a valid URL"},
		"user":        {Place{Name: "tls://me:hidden@fleet.example?sync=always"}, "--fleet has a user"},
		"query":       {Place{Name: "TLS://fleet.example?sync=never"}, "the URL of --fleet has sync with a value that is unknown"},
		"no sync":     {Place{Name: "wss://fleet.example"}, "a loss of power may lose jobs"},
		"credentials": {Place{Name: "tls://fleet.example?sync=always", Credentials: secret}, `unknown field "rule"`},
		"plaintext":   {Place{Name: "nats://fleet.example?sync=always"}, "natsfleet"},
	} {
		e, err := test.place.Connect(t.Context())
		if e != nil || err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	empty := Place{Name: t.TempDir()}
	if e, err := empty.Connect(t.Context()); e != nil || !errors.Is(err, ErrNotRunning) || empty.Runs(t.Context()) {
		t.Errorf("an empty directory: %v, %v", e, err)
	}
}

// TestServe starts the server of a directory, which others then find.
func TestServe(t *testing.T) {
	t.Parallel()
	place := Place{Name: t.TempDir()}
	if _, err := place.Serve(t.Context(), Server{Users: filepath.Join(place.Name, "missing")}); err == nil {
		t.Error("a file of users that does not exist is no error")
	}
	server, err := place.Serve(t.Context(), Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // only the test wrote
	if !server.Serves() || !server.Private() || !place.Runs(t.Context()) {
		t.Error("the server does not run")
	}
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	for listen, want := range map[string]string{"": "", "0.0.0.0:0": "tls://machine:" + at.Port() + "?sync=always"} {
		if got := server.Remote(listen, "machine"); got != want {
			t.Errorf("other machines connect to %q for --listen %q", got, listen)
		}
	}
	client, err := place.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if client.Serves() || client.URL() != server.URL() {
		t.Errorf("the client is connected to %s", client.URL())
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	_, err := Place{Name: "nats://fleet.example?sync=always"}.Connect(t.Context())
	if f := Explain(err); f == nil || f.Code != clikit.ExitUsage || !strings.Contains(f.Hint, "tls=off") {
		t.Errorf("%v: %+v", err, f)
	}
	if f := Explain(errors.New("other")); f != nil {
		t.Errorf("%+v", f)
	}
}

// An error in the flags of a server names the flags, and the error of a role without a permission names the role that
// has it.
func TestErrorsNameFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server Server
		want   string
	}{
		{Server{Listen: "0.0.0.0:4222"}, "--listen 0.0.0.0:4222 lets other machines reach the server"},
		{Server{Listen: "0.0.0.0:4222", Certificate: "c", Key: "k"}, "lets other machines reach"},
		{Server{Listen: "127.0.0.1:0", Certificate: "c"}, "--tls-cert and --tls-key belong together"},
		{Server{Listen: "4222"}, "--listen must be HOST:PORT"},
		{Server{Listen: "127.0.0.1:99999"}, "--listen must be HOST:PORT"},
	} {
		if _, err := (Place{Name: t.TempDir()}).Serve(t.Context(), tt.server); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.server, err)
		}
	}
	const password = "0123456789abcdef"
	dir := t.TempDir()
	users := filepath.Join(dir, "users.json")
	if err := os.WriteFile(users, []byte(`[{"name":"w","password":"`+password+`","role":"watch"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := Place{Name: filepath.Join(dir, "fleet")}.Serve(t.Context(), Server{Users: users})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // only the test wrote
	mine := filepath.Join(dir, "mine.json")
	if err := os.WriteFile(mine, []byte(`{"user":"w","password":"`+password+`","role":"watch"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := Place{Name: server.URL() + "?sync=always", Credentials: mine}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // it wrote nothing
	_, err = fleet.Open(client, "w").Submit(t.Context(), &fleet.Spec{Prompt: "Work."})
	if f := Explain(err); f == nil || strings.Contains(f.Err.Error(), "Permissions Violation") || !strings.Contains(f.Hint, `"submit"`) {
		t.Errorf("%v: %+v", err, f)
	}
}
