package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A StatusLineInput is the input that Claude Code writes to the command of its setting statusLine:
// the state of an interactive session. The command gets one, prints a line, and ends.
//
// A nil pointer means that the agent has not sent the member. Which members there are depends on
// the account, on the model and on whether the model answered yet. The fields match version
// 2.1.325; other members are ignored.
type StatusLineInput struct {
	SessionID   string `json:"session_id"`
	SessionName string `json:"session_name,omitempty"` // given by the user
	// PromptID is the UUID of the last prompt, or "" before the first one.
	PromptID string `json:"prompt_id,omitempty"`
	// TranscriptPath is the file of the session. It may not exist yet.
	TranscriptPath string `json:"transcript_path"`
	// ScratchpadDir is a directory for temporary files of the session, or "".
	ScratchpadDir string `json:"scratchpad_dir,omitempty"`
	CWD           string `json:"cwd"`
	// AgentType is the type of the agent that the session was started as, or "".
	AgentType string `json:"agent_type,omitempty"`
	Version   string `json:"version"` // of Claude Code

	Model       StatusModel     `json:"model"`
	Effort      *StatusEffort   `json:"effort,omitempty"` // nil for models without
	Thinking    *StatusThinking `json:"thinking,omitempty"`
	FastMode    bool            `json:"fast_mode"`
	OutputStyle *StatusName     `json:"output_style,omitempty"`
	// Agent is the agent that the session was started as.
	Agent *StatusName `json:"agent,omitempty"`
	// Vim is nil unless the editor of prompts is in vim mode.
	Vim *StatusVim `json:"vim,omitempty"`

	Workspace StatusWorkspace `json:"workspace"`
	// Worktree is nil unless the agent made a working tree for the session.
	Worktree *StatusWorktree `json:"worktree,omitempty"`
	// PullRequest is the pull request of the branch.
	PullRequest *StatusPullRequest `json:"pr,omitempty"`
	// Remote is nil unless the session can be used from another device.
	Remote *StatusRemote `json:"remote,omitempty"`

	Cost          *StatusCost          `json:"cost,omitempty"`
	ContextWindow *StatusContextWindow `json:"context_window,omitempty"`
	// Exceeds200kTokens reports whether the last request was longer than 200,000 tokens.
	Exceeds200kTokens bool `json:"exceeds_200k_tokens"`
	// PromptCache is nil until the model answers.
	PromptCache *StatusPromptCache `json:"prompt_cache,omitempty"`
	// RateLimits is nil unless the account has limits, and until the model answers.
	RateLimits *StatusRateLimits `json:"rate_limits,omitempty"`
}

// StatusModel is the model of a session.
type StatusModel struct {
	ID          string `json:"id"`           // such as "claude-opus-5-5"
	DisplayName string `json:"display_name"` // such as "Opus 5.5"
}

// StatusEffort is the model's effort level.
type StatusEffort struct {
	Level wire.Effort `json:"level"`
}

// StatusThinking reports whether the model thinks.
type StatusThinking struct {
	Enabled bool `json:"enabled"`
}

// StatusName is the name of an output style or of an agent.
type StatusName struct {
	Name string `json:"name"`
}

// StatusVim is the state of the editor of prompts.
type StatusVim struct {
	Mode string `json:"mode"` // such as "INSERT" or "NORMAL"
}

// StatusWorkspace has the directories of a session.
type StatusWorkspace struct {
	CurrentDir string   `json:"current_dir"`
	ProjectDir string   `json:"project_dir"` // in which the session was started
	AddedDirs  []string `json:"added_dirs"`
	// GitWorktree is the name of the working tree, if CurrentDir is in a tree made by git worktree.
	GitWorktree string            `json:"git_worktree,omitempty"`
	Repo        *StatusRepository `json:"repo,omitempty"`
}

// StatusRepository is the source of the repository of a session.
type StatusRepository struct {
	Host  string `json:"host"` // such as "github.com"
	Owner string `json:"owner"`
	Name  string `json:"name"`
}

// StatusWorktree is a working tree that the agent made for a session.
type StatusWorktree struct {
	Name           string `json:"name"`
	Path           string `json:"path"`
	Branch         string `json:"branch,omitempty"`
	OriginalCWD    string `json:"original_cwd"`
	OriginalBranch string `json:"original_branch,omitempty"`
}

// StatusPullRequest is a pull request of GitHub, or a merge request of GitLab.
type StatusPullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// ReviewState is such as "approved" or "changes_requested", or "".
	ReviewState string `json:"review_state,omitempty"`
	Kind        string `json:"kind,omitempty"` // "mr" for a merge request
}

// StatusRemote identifies a session to other devices.
type StatusRemote struct {
	SessionID string `json:"session_id"`
}

// StatusCost is the cost of a session, as the agent computes it, and its duration.
type StatusCost struct {
	TotalCostUSD       *float64 `json:"total_cost_usd,omitempty"`
	TotalDurationMS    int64    `json:"total_duration_ms"`
	TotalAPIDurationMS int64    `json:"total_api_duration_ms"`
	TotalLinesAdded    int      `json:"total_lines_added"`
	TotalLinesRemoved  int      `json:"total_lines_removed"`
}

// StatusContextWindow is the use of the context window.
type StatusContextWindow struct {
	TotalInputTokens  int `json:"total_input_tokens"` // of the last request, cached or not
	TotalOutputTokens int `json:"total_output_tokens"`
	ContextWindowSize int `json:"context_window_size"`
	// CurrentUsage is the usage of the last answer, and nil before the first one.
	CurrentUsage *StatusUsage `json:"current_usage"`
	// UsedPercentage is from 0 to 100, and nil before the first answer.
	UsedPercentage      *float64 `json:"used_percentage"`
	RemainingPercentage *float64 `json:"remaining_percentage"` // nil before the first answer
}

// StatusUsage counts the tokens of an answer.
type StatusUsage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
}

// StatusPromptCache is the state of the prompt cache of the main conversation.
type StatusPromptCache struct {
	// Warm reports whether the next request can read from the cache.
	Warm bool `json:"warm"`
	// CachingObserved reports whether an answer reported cached tokens. Some providers never do.
	CachingObserved bool   `json:"caching_observed"`
	TTL             string `json:"ttl"` // "5m" or "1h"
	// ExpiresAt is the time from which the cache is no longer warm, in seconds since 1970; nil if
	// the last answer reported no cached tokens.
	ExpiresAt        *int64 `json:"expires_at"`
	Requests         int    `json:"requests"`
	Misses           int    `json:"misses"`
	ExpectedRebuilds int    `json:"expected_rebuilds"` // after compactions
	// HitRatio is the part of all input that was read from the cache, from 0 to 1.
	HitRatio          *float64 `json:"hit_ratio"`
	CacheWriteTokens  int      `json:"cache_write_tokens"`
	MissRecacheTokens int      `json:"miss_recache_tokens"`
	LastMissAt        *int64   `json:"last_miss_at"` // seconds since 1970
	// LastMissCause is nil if there was no miss, or none with a known cause.
	LastMissCause *StatusMissCause `json:"last_miss_cause"`
	// MissCauses counts the misses by cause, such as "tools_changed" or "ttl_expired_5m".
	MissCauses map[string]int `json:"miss_causes"`
	// RecacheTokensIfCold is the number of tokens that are written again if the cache expires.
	RecacheTokensIfCold *int `json:"recache_tokens_if_cold"`
}

// StatusMissCause is the cause of a prompt cache miss, as far as the agent knows it.
type StatusMissCause struct {
	Causes          []string `json:"causes"`
	ToolsAdded      *int     `json:"tools_added,omitempty"`
	ToolsRemoved    *int     `json:"tools_removed,omitempty"`
	SystemCharDelta *int     `json:"system_char_delta,omitempty"`
}

// StatusRateLimits are the limits of an account. A limit is nil unless the API reports it.
type StatusRateLimits struct {
	FiveHour *StatusLimit `json:"five_hour,omitempty"`
	SevenDay *StatusLimit `json:"seven_day,omitempty"`
	// SpendLimit is the fullest limit of a gateway.
	SpendLimit *StatusLimit `json:"spend_limit,omitempty"`
}

// StatusLimit is a limit and its use.
type StatusLimit struct {
	// UsedPercentage is from 0 to 100. That of a spend limit may be more.
	UsedPercentage *float64 `json:"used_percentage,omitempty"`
	// ResetsAt is the time the limit resets, in seconds since 1970. See [StatusLimit.Reset].
	ResetsAt int64 `json:"resets_at"`
	// UsedUSD is the amount spent. Only spend limits have it, and not all.
	UsedUSD  *float64 `json:"used_usd,omitempty"`
	LimitUSD *float64 `json:"limit_usd,omitempty"`
	Period   string   `json:"period,omitempty"` // of a spend limit: "daily", "weekly" or "monthly"
}

// Reset returns when the limit resets, or the zero time if that is not known.
func (l *StatusLimit) Reset() time.Time {
	const year9999 = 253402300799
	if l.ResetsAt <= 0 || l.ResetsAt > year9999 {
		return time.Time{}
	}
	return time.Unix(l.ResetsAt, 0)
}

// DecodeStatusLineInput decodes what the command of a status line reads from its stdin. A member whose
// type does not fit is left out, so that a newer agent costs a part of the line and not all of it.
// It returns an error if the text is not a JSON object.
func DecodeStatusLineInput(data []byte) (*StatusLineInput, error) {
	s := new(StatusLineInput)
	err := json.Unmarshal(data, s)
	if misfit := (*json.UnmarshalTypeError)(nil); errors.As(err, &misfit) {
		s, err = decodeWithoutMisfits(data, misfit)
	}
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		err = errors.New("it is not an object")
	}
	if err != nil {
		return nil, fmt.Errorf("settings: status line: %w", err)
	}
	return s, nil
}

// maxStatusMisfits is the maximum number of misfitting members in a status line.
const maxStatusMisfits = 64

// decodeWithoutMisfits removes one member after the other whose type does not fit. Without that,
// encoding/json would set a pointer to the member to a zero.
func decodeWithoutMisfits(data []byte, misfit *json.UnmarshalTypeError) (*StatusLineInput, error) {
	var top map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // numbers stay as they are
	if err := d.Decode(&top); err != nil {
		return nil, err
	}
	for range maxStatusMisfits {
		if !removeMember(top, strings.Split(misfit.Field, ".")) {
			break
		}
		text, err := json.Marshal(top)
		if err != nil {
			return nil, err
		}
		s := new(StatusLineInput)
		if err = json.Unmarshal(text, s); err == nil || !errors.As(err, &misfit) {
			return s, err
		}
	}
	return nil, misfit
}

// removeMember removes the member with that path from an object, and reports whether it was there.
func removeMember(object map[string]any, path []string) bool {
	value, ok := object[path[0]]
	if inner, isObject := value.(map[string]any); ok && isObject && len(path) > 1 && removeMember(inner, path[1:]) {
		return true
	}
	delete(object, path[0])
	return ok
}
