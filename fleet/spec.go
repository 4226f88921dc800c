package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/gitaddress"
)

// A Spec is the request of a submitter. A worker refuses a job that asks for more than its policy
// allows.
type Spec struct {
	// Prompt is the prompt for the agent.
	Prompt string `json:"prompt"`
	// Title names the job in lists; "" means the first words of the prompt.
	Title string `json:"title,omitempty"`
	// Queue is whose workers may take the job; "" means [DefaultQueue].
	Queue string `json:"queue,omitempty"`
	// Priority orders the jobs: the higher number goes first, from -9 to 9, and of equal ones the
	// older.
	Priority int `json:"priority,omitempty"`
	// Key makes a submit that is repeated harmless: the same key in the same queue is the same job.
	Key string `json:"key,omitempty"`
	// Repo is the repository that the agent works on; nil means an empty directory.
	Repo *Repo `json:"repo,omitempty"`
	// Agent configures the agent.
	Agent AgentSpec `json:"agent,omitzero"`
	// Account is whose limits and budget the job uses; "" means [DefaultAccount].
	Account string `json:"account,omitempty"`
	// Limits end the job when it takes too much.
	Limits Limits `json:"limits,omitzero"`
	// OnLost is the policy if the worker is gone after the prompt may have been sent; "" means
	// Hold.
	OnLost Policy `json:"on_lost,omitempty"`
	// Attempts is the maximum number of attempts that the policy may start; 0 means 3. Attempts
	// ended by an account limit, a question or a worker don't count.
	Attempts int `json:"attempts,omitempty"`
	// After has the IDs of jobs that must be done first.
	After []string `json:"after,omitempty"`
	// Ask configures permission requests and the agent's questions; nil means that nobody is asked,
	// and that the agent is informed.
	Ask *Ask `json:"ask,omitempty"`
}

// A Repo is a git repository as a worker reaches it.
type Repo struct {
	URL string `json:"url"`           // or the path of a directory of the worker's machine
	Ref string `json:"ref,omitempty"` // a branch, a tag or a commit; "" means the default branch
	// Branch is the branch to push the result to; "" means that it is not pushed.
	Branch string `json:"branch,omitempty"`
}

// An AgentSpec has the parts of clew.Options that a submitter can set.
type AgentSpec struct {
	Model           string          `json:"model,omitempty"`
	PermissionMode  string          `json:"permission_mode,omitempty"`
	Tools           []string        `json:"tools,omitzero"` // nil means every tool that the worker allows
	AllowedTools    []string        `json:"allowed_tools,omitempty"`
	DisallowedTools []string        `json:"disallowed_tools,omitempty"`
	MaxTurns        int             `json:"max_turns,omitempty"`
	Instructions    string          `json:"instructions,omitempty"` // added to the system prompt
	OutputSchema    json.RawMessage `json:"output_schema,omitempty"`
	// Secrets are the names of environment variables whose values the worker has.
	Secrets []string `json:"secrets,omitempty"`
	// MCP are the names of MCP servers that the worker knows.
	MCP []string `json:"mcp,omitempty"`
}

// Limits end a job. Zero means no limit but the worker's.
type Limits struct {
	BudgetUSD float64  `json:"budget_usd,omitempty"` // of all attempts
	Wall      Duration `json:"wall,omitempty"`       // of an attempt
	Idle      Duration `json:"idle,omitempty"`       // without a word of the agent
}

// Ask lists the tools that need an answer, and the times to wait for answers.
type Ask struct {
	// Tools are tools whose every call needs an answer before it runs, in addition to the calls
	// that need permission anyway. Only calls of these tools can be parked.
	Tools []string `json:"tools,omitempty"`
	// Wait is the time that a question stays open; then the agent learns that nobody answered. 0
	// means 24 hours.
	Wait Duration `json:"wait,omitempty"`
	// Park is after which time the agent is ended until the answer comes; 0 means 10 minutes, and less
	// than 0 never.
	Park Duration `json:"park,omitempty"`
}

// The names that an empty queue and an empty account stand for.
const (
	DefaultQueue   = "default"
	DefaultAccount = "default"
)

// A Duration is a time.Duration that is written as "1h30m".
type Duration time.Duration

// MarshalText returns the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// A Policy decides about a lost job.
type Policy string

// The policies.
const (
	Hold    Policy = "hold"    // until a person decides
	Resume  Policy = "resume"  // in a copy of the stored session, with a message about the loss
	Restart Policy = "restart" // with the prompt, from the beginning
)

// The largest values of a Spec.
const (
	maxPrompt   = 32 << 10 // the record of a job has at most 64 KB
	maxName     = 64
	maxKey      = 256
	maxAfter    = 100
	maxPriority = 9
	maxSpec     = 44 << 10
)

// Check reports what is wrong with the spec.
func (s *Spec) Check() error {
	text, err := json.Marshal(s)
	return errors.Join(
		err,
		s.checkText(),
		checkName("the queue", s.Queue),
		checkName("the account", s.Account),
		s.checkNumbers(),
		s.checkRepo(),
		refuse(!slices.Contains([]Policy{"", Hold, Resume, Restart}, s.OnLost), "on_lost is %q; it can be hold, resume or restart", s.OnLost),
		refuse(len(s.After) > maxAfter, "the job comes after %d others; %d are possible", len(s.After), maxAfter),
		refuse(slices.Contains(s.After, ""), "an ID of after is empty"),
		refuse(len(s.Agent.OutputSchema) > 0 && !json.Valid(s.Agent.OutputSchema), "the output schema is not JSON"),
		refuse(len(text) > maxSpec, "the job has %d bytes; %d are possible: put long texts into the repository", len(text), maxSpec),
	)
}

func (s *Spec) checkText() error {
	return errors.Join(
		refuse(strings.TrimSpace(s.Prompt) == "", "the prompt is empty"),
		refuse(len(s.Prompt) > maxPrompt, "the prompt has %d bytes; %d are possible: put long texts into the repository", len(s.Prompt), maxPrompt),
		refuse(!utf8.ValidString(s.Prompt), "the prompt is not UTF-8"),
		refuse(len(s.Key) > maxKey, "the key has %d bytes; %d are possible", len(s.Key), maxKey),
	)
}

func (s *Spec) checkNumbers() error {
	return errors.Join(
		refuse(s.Priority < -maxPriority || s.Priority > maxPriority, "the priority is %d; it can be from -9 to 9", s.Priority),
		refuse(s.Attempts < 0 || s.Attempts > maxAttempts, "attempts is %d; it can be from 1 to %d", s.Attempts, maxAttempts),
		refuse(!(s.Limits.BudgetUSD >= 0), // it may be NaN
			"the budget is %v; it can't be less than 0", s.Limits.BudgetUSD),
		refuse(s.Limits.Wall < 0 || s.Limits.Idle < 0, "a limit of time is less than 0"),
		refuse(s.Agent.MaxTurns < 0, "max_turns is less than 0"),
		refuse(s.Ask != nil && (s.Ask.Wait < 0 || s.Ask.Wait > Duration(maxWait)), "the time to wait for an answer can be up to 30 days"),
		refuse(s.Ask != nil && slices.ContainsFunc(s.Ask.Tools, isRule), "a tool that is asked for is a rule; the name of the tool is possible"),
	)
}

// isRule reports whether a text is more than the name of a tool.
func isRule(tool string) bool { return tool == "" || strings.ContainsAny(tool, "(), *") }

func (s *Spec) checkRepo() error {
	if s.Repo == nil {
		return nil
	}
	return errors.Join(
		refuse(s.Repo.URL == "", "the repository has no URL"),
		refuse(strings.HasPrefix(s.Repo.URL, "-"), "the URL of the repository begins with -"),
		refuse(strings.HasPrefix(s.Repo.Ref, "-"), "the ref begins with -"),
		refuse(strings.HasPrefix(s.Repo.Branch, "-"), "the branch begins with -"),
		refuse(hasDots(s.Repo.URL), "the URL of the repository has an element . or .."),
		refuse(gitaddress.HasCredentials(s.Repo.URL), "the URL of the repository has a user or a password: others can read it; workers have their own credentials for git"),
	)
}

// hasDots reports whether an element of a path is "." or "..", even percent-encoded: a pattern that
// allows a directory would let others through.
func hasDots(url string) bool {
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/", ":", "/").Replace(url)
	return slices.ContainsFunc(strings.Split(plain, "/"), func(element string) bool { return element == "." || element == ".." })
}

// refuse returns an error if something is wrong.
func refuse(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// checkName checks a name that may become a part of a subject or a path.
func checkName(what, name string) error {
	isOdd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return errors.Join(
		refuse(len(name) > maxName, "%s has a name of %d bytes; %d are possible", what, len(name), maxName),
		refuse(strings.ContainsFunc(name, isOdd), "%s is named %q; letters, digits, - and _ are possible", what, name),
	)
}

// queue is the queue of the job.
func (s *Spec) queue() string {
	if s.Queue == "" {
		return DefaultQueue
	}
	return s.Queue
}

// account is the account of the job.
func (s *Spec) account() string {
	if s.Account == "" {
		return DefaultAccount
	}
	return s.Account
}

// attempts returns the maximum number of attempts that the policy may start.
func (s *Spec) attempts() int {
	if s.Attempts == 0 {
		return 3
	}
	return s.Attempts
}

// title is the name of the job in lists.
func (s *Spec) title() string {
	text := s.Title
	if text == "" {
		text = s.Prompt
	}
	return clip.Words(text, maxTitle)
}

const maxTitle = 80
