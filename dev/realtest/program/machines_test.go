package program_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
)

// A machine has its own home, settings and state. Machines share nothing but the network.
type machine struct {
	*stage
	env []string
}

func newMachine(t *testing.T, s *stage) *machine {
	t.Helper()
	home := t.TempDir()
	own := &stage{model: s.model, agent: s.agent, dir: home}
	env := []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude")}
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(home, strings.ToLower(name)))
	}
	return &machine{own, env}
}

// write writes a file of the machine.
func (m *machine) write(t *testing.T, name string, v any) {
	t.Helper()
	text, isText := v.(string)
	if !isText {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := m.stage.command(t, args...)
	cmd.Env = append(cmd.Env, m.env...)
	return cmd
}

func (m *machine) run(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := m.command(t, args...)
	out, _ := cmd.CombinedOutput() // the exit code reports a failure
	if strings.Contains(string(out), password) {
		t.Errorf("clew %v prints a password: %s", args, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// startWorker starts a worker, which is ended with the test.
func (m *machine) startWorker(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	worker := m.command(t, append([]string{"worker", "--min-free", "100MB"}, args...)...)
	var log lockedBuffer
	worker.Stdout, worker.Stderr = &log, &log
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = worker.Process.Kill() // the test may have done that
		_ = worker.Wait()
		if t.Failed() {
			t.Logf("a worker:\n%s", log.String())
		}
	})
	polltest.Until(t, "the worker does not start", func() bool { return strings.Contains(log.String(), "takes jobs") })
	return worker
}

// git runs git on the machine.
func (m *machine) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), m.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// serveGit serves a repository with one commit, and returns its URL.
func serveGit(t *testing.T, m *machine) string {
	t.Helper()
	m.git(t, "init", "-q", "-b", "main", "first")
	m.git(t, "-C", "first", "commit", "-q", "--allow-empty", "-m", "first")
	m.git(t, "clone", "-q", "--bare", "first", "app.git")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + m.dir, "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	return server.URL + "/app.git"
}

// address returns one of this machine that others can reach, or loopback if there is none.
func address(t *testing.T) net.IP {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP
		}
	}
	return net.IPv4(127, 0, 0, 1)
}

// certificate returns a certificate for an address, which vouches for itself, and its key.
func certificate(t *testing.T, ip net.IP) (certPEM, keyPEM string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{ip}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", private)
}

const password = "a password of the test"

// credentials returns the credentials of a user, as a file has them.
func credentials(role, word, ca string) map[string]string {
	return map[string]string{"user": role, "password": word, "role": role, "ca": ca}
}

// TestRealMachines does what docs/fleet.md says about several machines: one has the server, with TLS and users, two have
// workers, and one submits. Then a worker is killed in the middle of a turn, and its job continues on the other
// machine.
func TestRealMachines(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Greet").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo Hello > greeting.txt"}))
	s.model.On("Migrate").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo half of it | tee half.txt"}))
	s.model.On("was lost at").Reply(clewtest.Text("It went on."))
	s.model.OnToolResult("half of it").Hang()
	s.model.OnToolResult("").Reply(clewtest.Text("It is done."))

	server, first, second, user := newMachine(t, s), newMachine(t, s), newMachine(t, s), newMachine(t, s)
	repo := serveGit(t, server)
	ip := address(t)
	certPEM, keyPEM := certificate(t, ip)
	server.write(t, "server.pem", certPEM)
	server.write(t, "server-key.pem", keyPEM)
	server.write(t, "users.json", []map[string]string{
		{"name": "work", "password": password, "role": "work"}, {"name": "submit", "password": password, "role": "submit"},
	})
	// The server itself takes no jobs of the queue "default".
	server.startWorker(t, "--listen", "0.0.0.0:0", "--tls-cert", "server.pem", "--tls-key", "server-key.pem", "--users", "users.json", "--queue", "none")
	host := net.JoinHostPort(ip.String(), server.port(t))
	for _, m := range []*machine{first, second, user} {
		m.write(t, "ca.pem", certPEM)
		m.env = append(m.env, "CLEW_FLEET=tls://"+host+"?sync=always")
	}
	for _, m := range []*machine{first, second} {
		m.write(t, "worker.json", credentials("work", password, "ca.pem"))
	}
	user.write(t, "me.json", credentials("submit", password, "ca.pem"))
	user.refused(t, host)

	worker := first.startWorker(t, "--fleet-credentials", "worker.json")
	user.git(t, "clone", "-q", repo, "app")
	out, code := user.run(t, "submit", "--fleet-credentials", "me.json", "--repo", repo, "--allowed-tools", "Bash", "--wait", "Greet")
	if code != 0 || !strings.Contains(out, "It is done.") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	id := regexp.MustCompile(`\b[a-z2-9]{12}\b`).FindString(out)
	user.dir = filepath.Join(user.dir, "app")
	if out, code := user.run(t, "jobs", "patch", id, "--apply", "--fleet-credentials", "../me.json"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if got, err := os.ReadFile(filepath.Join(user.dir, "greeting.txt")); err != nil || string(got) != "Hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	user.dir = filepath.Dir(user.dir)

	done := make(chan string, 1)
	go func() {
		out, _ := user.run(t, "submit", "--fleet-credentials", "me.json", "--repo", repo, "--allowed-tools", "Bash", "--wait", "Migrate")
		done <- out
	}()
	polltest.Until(t, "the agent does not work", func() bool {
		for _, r := range s.model.Requests() {
			if strings.Contains(string(r.Body), "half of it") {
				return true
			}
		}
		return false
	})
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	second.startWorker(t, "--fleet-credentials", "worker.json")
	if out := <-done; !strings.Contains(out, "It went on.") {
		t.Errorf("the job did not go on:\n%s", out)
	}
}

// port returns the port at which the server of the machine listens.
func (m *machine) port(t *testing.T) string {
	t.Helper()
	var port string
	polltest.Until(t, "there is no server", func() bool {
		text, err := os.ReadFile(filepath.Join(m.dir, "state", "clew", "fleet", "fleet.json"))
		if err != nil {
			return false
		}
		var notice struct{ URL string }
		if err := json.Unmarshal(text, &notice); err != nil {
			t.Fatal(err)
		}
		port = notice.URL[strings.LastIndex(notice.URL, ":")+1:]
		return true
	})
	return port
}

// refused checks the program's message if the server does not let it in, or is the wrong server.
func (m *machine) refused(t *testing.T, host string) {
	t.Helper()
	otherPEM, _ := certificate(t, net.IPv4(127, 0, 0, 1))
	m.write(t, "other.pem", otherPEM)
	m.write(t, "wrong.json", credentials("submit", "not the password of the test", "ca.pem"))
	m.write(t, "plain.json", map[string]string{"user": "submit", "password": password, "role": "submit"})
	m.write(t, "other.json", credentials("submit", password, "other.pem"))
	for _, c := range []struct {
		name, fleet, credentials, want string
	}{
		{"wrong password", "tls://" + host + "?sync=always", "wrong.json", "Check the user, the password"},
		{"no credentials", "tls://" + host + "?sync=always", "", `as "ca"|credentials`},
		{"wrong certificate", "tls://" + host + "?sync=always", "other.json", `as "ca"`},
		{"no TLS", "nats://" + host + "?sync=always", "plain.json", "(?i)tls"},
		{"no promise", "tls://" + host, "me.json", "sync=always"},
	} {
		args := []string{"jobs", "--fleet", c.fleet}
		if c.credentials != "" {
			args = append(args, "--fleet-credentials", c.credentials)
		}
		out, code := m.run(t, args...)
		if code == 0 || !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("%s: exit code %d\n%s", c.name, code, out)
		}
	}
}
