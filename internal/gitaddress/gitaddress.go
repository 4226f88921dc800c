// Package gitaddress tells apart the addresses of git repositories.
package gitaddress

import (
	"net/url"
	"strings"
)

// Split returns the host of an address with its user and port, and the path there. The address is a
// URL, or the short form for SSH, such as git@host:path. Split returns false for a path of this
// machine, such as one with the drive of Windows.
func Split(address string) (host, path string, ok bool) {
	if _, rest, isURL := strings.Cut(address, "://"); isURL {
		host, path, _ = strings.Cut(rest, "/")
		return host, path, true
	}
	host, path, ok = strings.Cut(address, ":")
	if !ok || len(host) < 2 || strings.ContainsAny(host, `/\`) {
		return "", "", false
	}
	return host, path, true
}

// HasCredentials reports whether an address has a password, or a user where a token could be one:
// only with SSH, the name of a user is no secret. Others can read an address, and git passes it on.
func HasCredentials(address string) bool {
	if helper, rest, ok := strings.Cut(address, "::"); ok && !strings.ContainsAny(helper, `/\:@`) {
		address = rest // of a program that git starts, such as the one for FTP
	}
	scheme, rest, isURL := strings.Cut(address, "://")
	if !isURL { // in the short form a colon ends the host: git takes a password for the path
		before, after, _ := strings.Cut(address, ":")
		after, _, _ = strings.Cut(strings.ReplaceAll(after, `\`, "/"), "/")
		return strings.Contains(after, "@") && !strings.ContainsAny(before, `/\`)
	}
	isSSH := strings.EqualFold(scheme, "ssh")
	u, err := url.Parse(address)
	if err != nil {
		user, _, ok := strings.Cut(rest, "@")
		return ok && (!isSSH || strings.Contains(user, ":"))
	}
	_, hasPassword := u.User.Password()
	return hasPassword || u.User != nil && !isSSH
}
