package clew_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
)

const (
	// roleVariable makes the test binary another process than a test. Agents don't inherit it, since it begins with CLEW_.
	roleVariable = "CLEW_TEST_ROLE"
	// lifelineVariable is where a plain agent connects to, so that a test sees when it is gone.
	lifelineVariable = "CLEW_TEST_LIFELINE"
)

// endLimit is how long goroutines may take to return when all tests are over.
const endLimit = 5 * time.Second

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playRole(role))
	}
	code := m.Run()
	if left := leftBehind(endLimit); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

func playRole(role string) int {
	switch role {
	case "agent":
		return plainAgent()
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		return 1
	case "host":
		return plainHost()
	}
	fmt.Fprintln(os.Stderr, "no such role:", role)
	return 2
}

// plainAgent answers initialize and waits for the end of its input. The simulated agent costs its test a connection and
// a goroutine; this one costs nothing but itself.
func plainAgent() int {
	if address := os.Getenv(lifelineVariable); address != "" {
		if _, err := new(net.Dialer).DialContext(context.Background(), "tcp", address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	in := bufio.NewReader(os.Stdin)
	var request struct {
		ID string `json:"request_id"`
	}
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &request)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`+"\n", request.ID)
	_, _ = io.Copy(io.Discard, in)
	return 0
}

// plainHost opens a session, says so, and does nothing more.
func plainHost() int {
	opts, err := plainOptions()
	if err == nil {
		opts.Env = append(opts.Env, lifelineVariable+"="+os.Getenv(lifelineVariable))
		_, err = clew.Connect(context.Background(), opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

// plainOptions are those for a plain agent.
func plainOptions() (*clew.Options, error) {
	path, err := os.Executable()
	return &clew.Options{AgentPath: path, Env: roleEnv("agent")}, err
}

// roleEnv makes the test binary play a role. It also tells the race detector not to sleep before a process exits.
func roleEnv(role string) []string {
	return []string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}
}
