package worktree

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "job1.2", "01HZX-3", "A_b", strings.Repeat("x", maxName)} {
		if err := checkName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "a..b", "../a", "a/b", `a\b`, "-a", ".a", "a.", "a ", "a.lock", "a.LOCK", "con", "NUL.txt", "com1", "a\x00", "a\n", "ä", "a:b", "*",
		"~", "@", "a@{1}", strings.Repeat("x", maxName+1),
	} {
		if err := checkName(name); err == nil {
			t.Errorf("%q can be a name", name)
		}
	}
}

func TestCheckRepo(t *testing.T) {
	t.Parallel()
	for repo, want := range map[string]string{
		"https://github.com/a/b.git":  "https://github.com/a/b.git",
		"https://host:8443/a%20b":     "https://host:8443/a%20b",
		"https://host/a#fragment":     "https://host/a",
		"ssh://git@host:22/a/b":       "ssh://git@host:22/a/b",
		"git@github.com:a/b.git":      "git@github.com:a/b.git",
		"host.example:a":              "host.example:a",
		"git://host/a":                "git://host/a",
		"http://[::1]:80/a":           "",
		"":                            "",
		"relative/path":               "",
		"./path":                      "",
		"~/path":                      "",
		"-c":                          "",
		"--upload-pack=evil":          "",
		"ext::sh -c evil":             "",
		"transport::address":          "",
		"ssh://-oProxyCommand=evil/a": "",
		"ssh://-evil@host/a":          "",
		"-oProxyCommand=evil@host:a":  "",
		"ssh://host/-evil":            "",
		"ftp://host/a":                "",
		"file://host/a":               "",
		"https:///a":                  "",
		"https://host/a\nb":           "",
		"https://host/%zz":            "",
		strings.Repeat("/a", maxRepo): "",
	} {
		got, _, err := checkRepo(repo)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.100q: %q, %v, want %q", repo, got, err, want)
		}
	}
}

func TestCheckRepoPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repos := []string{dir, filepath.Join(dir, "x") + string(filepath.Separator) + ".."}
	if filepath.Separator == '/' {
		repos = append(repos, "file://"+dir, "file://localhost"+dir+"/")
	}
	for _, repo := range repos {
		address, path, err := checkRepo(repo)
		differ(t, repo, []any{dir, dir, nil}, []any{address, path, err})
		differ(t, repo, dir, Directory(repo))
	}
}

func TestCredentialsStaySecret(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for _, repo := range []string{
		"https://user:s3cret@host/a", "https://s3cret@host/a", "http://:s3cret@host/a", "ssh://user:s3cret@host/a", "https://user:s3cret@host/%zz",
		"https://user:s3cret@ho st/a", "ftp://user:s3cret@host/", "user:s3cret@host:a", "git://s3cret@host/a", "file://user:s3cret@/a",
	} {
		_, err := r.Add(t.Context(), &Request{Repo: repo, Name: "a"})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", repo, err)
		}
	}
	differ(t, "text of git", "fatal: unable to access 'https://host/a/': x  [31m", cleaned("fatal: unable to access 'https://user:s3cret@host/a/': x\a\x1b[31m"))
}

func TestCheckRef(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"-x", "--all", "a..b", "main~1", "main^", "main:a", "a b", "@", "@{-1}", "main@{1}", "/a", "a/", "a//b", ".a", "a/.b",
		"a.lock", "a.lock/b", "a.", ":/text", "*", "a\x00", "a\nb", "", strings.Repeat("a", maxRef+1)} {
		if err := checkRef(ref); err == nil {
			t.Errorf("%.100q can be a ref", ref)
		}
	}
}

// FuzzCheckRef compares with git: what passes is a name for git, and can't be an option.
func FuzzCheckRef(f *testing.F) {
	for _, ref := range []string{"main", "feature/x", "v1.0", "-x", "a..b", "a.lock", "@", "ä", "a\x7f", "\xff", "a/.b", "refs/heads/main", "+x", "a,b{c}"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if checkRef(ref) != nil {
			return
		}
		if err := exec.CommandContext(t.Context(), "git", "check-ref-format", "refs/heads/"+ref).Run(); err != nil || strings.HasPrefix(ref, "-") { //nolint:gosec // not a shell
			t.Errorf("%q is no ref: %v", ref, err)
		}
	})
}

// FuzzCheckName checks that a name is one element of a path, and makes a branch.
func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"a", "job1.2", "..", "a/b", "CON", "a.lock", "x-y_z.1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		if filepath.Base(name) != name || !filepath.IsLocal(name) || checkRef("clew/"+name) != nil {
			t.Errorf("%q", name)
		}
	})
}
