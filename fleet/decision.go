package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Decision is what a person decided about a job or an account. Decisions stay when their job is removed.
type Decision struct {
	// At is the time by the engine's clock.
	At time.Time `json:"at"`
	// What is what was decided: "cancel", "resume", "retry", "drop", "answer", "release" or "daily budget".
	What    string `json:"what"`
	Job     string `json:"job,omitempty"`
	Account string `json:"account,omitempty"`
	// By is the name that the program gave to [Open], and User the user whom the server of the engine authenticated,
	// or "" if it authenticates nobody: then nothing vouches for By.
	By   string `json:"by"`
	User string `json:"user,omitempty"`
	// Why is the reason that was given, or the text of an answer.
	Why       string   `json:"why,omitempty"`
	Question  string   `json:"question,omitempty"`
	Tool      string   `json:"tool,omitempty"` // that the question is about
	Allow     *bool    `json:"allow,omitempty"`
	BudgetUSD *float64 `json:"budget_usd,omitempty"`
	MaxTurns  int      `json:"max_turns,omitempty"`
	// Failed is why nothing came of the decision, such as an answer that was too late.
	Failed string `json:"failed,omitempty"`
}

// An Identifier is an [Engine] whose server knows its users.
type Identifier interface {
	// Identity returns the user whom the server authenticated, or "" if it authenticates nobody.
	Identity(ctx context.Context) (string, error)
}

// user returns the user whom the server authenticated, or "".
func (f *Fleet) user(ctx context.Context) (string, error) {
	i, ok := f.engine.(Identifier)
	if !ok {
		return "", nil
	}
	f.mu.Lock()
	known := f.identity
	f.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	user, err := i.Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("fleet: the user of the server: %w", err)
	}
	user = cut(user, maxName)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.identity = &user
	return user, nil
}

// group returns the group of keys of the decisions about a job or an account. The ID of a job has no "-".
func (d *Decision) group() string {
	if d.Job == "" {
		return "account-" + d.Account
	}
	return d.Job
}

// deciding records a decision, lets it happen, and records why it did not. A decision that can't be recorded does not
// happen.
func (f *Fleet) deciding(ctx context.Context, d Decision, happen func(user string) error) error {
	user, err := f.user(ctx)
	if err != nil {
		return err
	}
	d.By, d.User, d.Why = cut(f.by, maxText), user, cut(d.Why, maxText)
	r := Record{Key: d.group() + "." + newID()}
	if r.Revision, err = f.writeDecision(ctx, &d, r); err != nil {
		return fmt.Errorf("fleet: the decision could not be recorded, so nothing was done: %w", err)
	}
	if err = happen(user); err != nil {
		d.Failed = cut(err.Error(), maxText)
		_, failed := f.writeDecision(context.WithoutCancel(ctx), &d, r)
		if failed != nil && !errors.Is(failed, ErrConflict) {
			err = errors.Join(err, fmt.Errorf("fleet: the decision is recorded as if it had happened: %w", failed))
		}
	}
	return err
}

func (f *Fleet) writeDecision(ctx context.Context, d *Decision, r Record) (revision uint64, err error) {
	if r.Data, err = json.Marshal(d); err != nil {
		return 0, err
	}
	for try := 1; ; try++ {
		revisions, err := f.engine.Set(ctx, Decisions, r)
		if err == nil {
			return revisions[0], nil
		}
		if is, failed := f.engine.Get(ctx, Decisions, r.Key); failed == nil && string(is.Data) == string(r.Data) {
			return is.Revision, nil // the write before succeeded
		}
		if errors.Is(err, ErrConflict) || try == maxTries || ctx.Err() != nil {
			return 0, err
		}
	}
}

// Decisions returns the decisions of people about a job, or all if the ID is "", the oldest first. The ID must be
// whole: the job may be gone.
func (f *Fleet) Decisions(ctx context.Context, job string) ([]*Decision, error) {
	var all []*Decision
	for r, err := range f.engine.List(ctx, Decisions, job, nil) {
		if err != nil {
			return nil, fmt.Errorf("fleet: the decisions: %w", err)
		}
		d := new(Decision)
		if err := json.Unmarshal(r.Data, d); err != nil {
			return nil, fmt.Errorf("fleet: the decision %s, revision %d: %w", r.Key, r.Revision, err)
		}
		d.At = r.Time
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b *Decision) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.group(), b.group())) })
	return all, nil
}
