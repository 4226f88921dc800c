package gitaddress

import (
	"testing"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address, host, path string // no host of a path of this machine
		hasCredentials      bool
	}{
		{address: "https://github.com/a/b.git", host: "github.com", path: "a/b.git"},
		{address: "https://host:8443/a", host: "host:8443", path: "a"},
		{address: "https://host/a@1", host: "host", path: "a@1"},
		{address: "https://me:pass@host/a", host: "me:pass@host", path: "a", hasCredentials: true},
		{address: "https://token@host/a", host: "token@host", path: "a", hasCredentials: true},
		{address: "https://me:pa%ss@host/a", host: "me:pa%ss@host", path: "a", hasCredentials: true},
		{address: "https://me:pa/ss@host/a", host: "me:pa", path: "ss@host/a", hasCredentials: true},
		{address: "http://:pass@host/a", host: ":pass@host", path: "a", hasCredentials: true},
		{address: "https://host/%zz", host: "host", path: "%zz"},
		{address: "git://host/a", host: "host", path: "a"},
		{address: "git://token@host/a", host: "token@host", path: "a", hasCredentials: true},
		{address: "GIT://token@host/a", host: "token@host", path: "a", hasCredentials: true},
		{address: "ftp://token@host/a", host: "token@host", path: "a", hasCredentials: true},
		{address: "foo::https://token@host/a", host: "token@host", path: "a", hasCredentials: true},
		{address: "foo::https://host/a", host: "host", path: "a"},
		{address: "ssh://git@host:22/a", host: "git@host:22", path: "a"},
		{address: "SSH://git@host/a", host: "git@host", path: "a"},
		{address: "ssh://git@host:a/b", host: "git@host:a", path: "b"},
		{address: "ssh://git:pass@host/a", host: "git:pass@host", path: "a", hasCredentials: true},
		{address: "ssh://git:pass@host:a/b", host: "git:pass@host:a", path: "b", hasCredentials: true},
		{address: "git@host:a/b.git", host: "git@host", path: "a/b.git"},
		{address: "git@host:a/b@1", host: "git@host", path: "a/b@1"},
		{address: "git:pass@host:a", host: "git", path: "pass@host:a", hasCredentials: true},
		{address: "g:pass@host:a", hasCredentials: true},
		{address: "host:a", host: "host", path: "a"},
		{address: "file:///srv/a", host: "", path: "srv/a"},
		{address: "/srv/a"},
		{address: "/srv/a@b:c"},
		{address: "./host:a"},
		{address: `dir\host:a`},
		{address: `C:\a`},
		{address: `C:\a@b`},
		{address: "C:/a@b"},
		{address: "."},
		{address: ""},
	} {
		host, path, ok := Split(tt.address)
		if host != tt.host || path != tt.path || ok != (path != "") {
			t.Errorf("Split(%q) = %q, %q, %t, want %q, %q", tt.address, host, path, ok, tt.host, tt.path)
		}
		if got := HasCredentials(tt.address); got != tt.hasCredentials {
			t.Errorf("HasCredentials(%q) = %t", tt.address, got)
		}
	}
}
