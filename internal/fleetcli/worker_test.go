package fleetcli

import (
	"bytes"
	"strings"
	"testing"
)

// The command for other machines has the port of the server, even if the system chose it.
func TestGreetPort(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{"0.0.0.0:0": ":40123?sync=always", "0.0.0.0:4222": ":40123?sync=always", "": "see --listen"} {
		var out bytes.Buffer
		p := &Program{}
		p.Err = &out
		o := &workerOptions{place: place{Program: p}, listen: listen, queues: []string{"default"}}
		o.greet([]string{"default"}, "tls://127.0.0.1:40123", nil)
		if !strings.Contains(out.String(), want) {
			t.Errorf("--listen %q: %s", listen, out.String())
		}
	}
}
