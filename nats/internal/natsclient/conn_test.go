package natsclient_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/nats/internal/natsclient"
)

func TestServers(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][]string{
		"nats://127.0.0.1:1":                  {"127.0.0.1:1"},
		"127.0.0.1:1":                         {"127.0.0.1:1"},
		"tls://host":                          {"host"},
		"wss://me:hunter2@host/":              {"host"},
		"nats://hunter2@[::1]:4222":           {"[::1]:4222"},
		"nats://me:hunter%402@host":           {"host"},
		"me:hunter2@a:1, b:2":                 {"a:1", "b:2"},
		"nats://me:hunter2@a,nats://me:x@b:2": {"a", "b:2"},
		"nats://me:hun@ter2@host":             {"host"},
		"":                                    nil,
		"nats://":                             nil,
		"nats://host:port":                    nil,
		"http://host":                         nil,
		"nats://host/path":                    nil,
		"nats://host?query":                   nil,
		"nats://host:123456":                  nil,
		"nats://host:1:2":                     nil,
	} {
		servers, err := natsclient.Servers(address)
		if (err != nil) != (want == nil) || err != nil && !errors.Is(err, natsclient.ErrURL) {
			t.Errorf("%q: %v", address, err)
		}
		var got []string
		for _, s := range servers {
			got = append(got, s.Host)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", address, diff)
		}
	}
}

// No error has a part of the user or of the password, in whatever form of a URL, and with whatever
// characters: nobody listens, and most URLs are invalid.
func TestErrorsWithoutPassword(t *testing.T) {
	t.Parallel()
	forms := []string{
		"nats://USER:PASS@127.0.0.1:1", "nats://PASS@127.0.0.1:1", "USER:PASS@127.0.0.1:1", "PASS@127.0.0.1:1", "tls://USER:PASS@127.0.0.1:1",
		"nats:USER:PASS@127.0.0.1:1", "nats:/USER:PASS@127.0.0.1:1", "http://USER:PASS@127.0.0.1:1", "://USER:PASS@127.0.0.1:1",
		"nats://127.0.0.1:1,nats://USER:PASS@127.0.0.1:2", "127.0.0.1:1, USER:PASS@127.0.0.1:2", "nats://USER:PASS@127.0.0.1:1,127.0.0.1:2",
		"nats://USER:PASS@", "nats://USER:PASS@127.0.0.1:port", "nats://USER:PASS@[bad", "nats://127.0.0.1:1/PASS", "nats://127.0.0.1:1?token=PASS",
		"nats://127.0.0.1:1#PASS", "nats://USER:PASS@127.0.0.1:1@127.0.0.1:1",
	}
	// Both halves are numbers as well, since the first one would then be a port.
	for _, half := range []string{"54321", "hunter"} {
		passwords := []string{half + "98765", url.QueryEscape(half + "/98765")}
		for c := rune(1); c < 0x80; c++ {
			passwords = append(passwords, half+string(c)+"98765")
		}
		passwords = append(passwords, half+"é98765", half+"%zz98765", half+",nats:98765")
		for _, password := range passwords {
			for _, form := range forms {
				address := strings.NewReplacer("USER", "somebody", "PASS", password).Replace(form)
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // nothing has to be tried: what an error shows was decided before
				_, err := natsclient.Dial(ctx, address)
				if err == nil {
					t.Fatalf("%q: connected", address)
				}
				for _, part := range []string{half, "98765", "somebody"} {
					if strings.Contains(err.Error(), part) {
						t.Errorf("%q: the error has %q: %v", address, part, err)
					}
				}
			}
		}
	}
}

// The same with an attempt to connect.
func TestDialNobody(t *testing.T) {
	t.Parallel()
	_, err := natsclient.Dial(t.Context(), "nats://somebody:hunter2@127.0.0.1:1, tls://hunter2@127.0.0.1:2")
	if err == nil || !strings.HasPrefix(err.Error(), "connect to 127.0.0.1:1,127.0.0.1:2: ") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
