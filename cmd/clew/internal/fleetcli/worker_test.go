package fleetcli

import (
	"bytes"
	"strings"
	"testing"
)

// The worker prints the command for other machines, or how to serve them.
func TestGreetRemote(t *testing.T) {
	t.Parallel()
	const url = "tls://machine:40123?sync=always"
	for remote, want := range map[string]string{url: "--fleet '" + url + "'", "": "see --listen"} {
		var out bytes.Buffer
		p := &Program{}
		p.Err = &out
		o := &workerOptions{place: place{Program: p}, queues: []string{"default"}}
		o.greet([]string{"default"}, remote, nil)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q: %s", remote, out.String())
		}
	}
}
