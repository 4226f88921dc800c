package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Decision is a person's decision about a job or an account. Decisions stay when their job is removed. A program that
// may decide also writes the record: a changed one can write another name, or another decision. [Fleet] writes each
// decision before it happens.
type Decision struct {
	// At is the time by the engine's clock.
	At time.Time `json:"at"`
	// What names the decision: "cancel", "resume", "retry", "drop", "answer", "release" or "daily budget".
	What    string `json:"what"`
	Job     string `json:"job,omitempty"`
	Account string `json:"account,omitempty"`
	// By is the name that the program gave to [Open], and User the user as whom the server of the engine authenticated
	// the program, or "" if it authenticates nobody.
	By   string `json:"by"`
	User string `json:"user,omitempty"`
	// Why is the reason that was given, or the text of an answer.
	Why       string   `json:"why,omitempty"`
	Question  string   `json:"question,omitempty"`
	Tool      string   `json:"tool,omitempty"` // that the question is about
	Allow     *bool    `json:"allow,omitempty"`
	BudgetUSD *float64 `json:"budget_usd,omitempty"`
	MaxTurns  int      `json:"max_turns,omitempty"`
	// Failed is the reason why nothing came of the decision, such as an answer that was too late.
	Failed string `json:"failed,omitempty"`
	// Unreadable is the reason why nothing else is known of the decision, or "".
	Unreadable string `json:"unreadable,omitempty"`
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
		return accountGroup + d.Account
	}
	return d.Job
}

// accountGroup is the beginning of the groups of accounts.
const accountGroup = "account-"

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
// whole: the job may be gone. Of a decision whose record can't be read, only At, Job or Account, and Unreadable are known.
func (f *Fleet) Decisions(ctx context.Context, job string) ([]*Decision, error) {
	records := map[string]Record{}
	byTime := func(a, b Record) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Revision, b.Revision)) }
	for r, err := range f.engine.Watch(ctx, Decisions, "", nil) { // which also has damaged records
		switch {
		case err != nil:
			return nil, fmt.Errorf("fleet: the decisions: %w", err)
		case r.Key == "":
			var all []*Decision
			for _, r := range slices.SortedFunc(maps.Values(records), byTime) {
				all = append(all, decisionOf(r))
			}
			return all, nil
		case r.Revision == 0:
			delete(records, r.Key)
		case job == "" || groupOf(r.Key) == job:
			records[r.Key] = r
		}
	}
	return nil, fmt.Errorf("fleet: the decisions: %w", context.Cause(ctx))
}

// groupOf returns the group of a key.
func groupOf(key string) string {
	group, _, _ := strings.Cut(key, ".")
	return group
}

func decisionOf(r Record) *Decision {
	d := new(Decision)
	if err := json.Unmarshal(r.Data, d); err != nil {
		d = &Decision{Unreadable: fmt.Sprintf("its record, revision %d, can't be read: %v", r.Revision, err)}
		var isAccount bool
		if d.Account, isAccount = strings.CutPrefix(groupOf(r.Key), accountGroup); !isAccount {
			d.Job, d.Account = d.Account, ""
		}
	}
	d.At = r.Time
	return d
}
