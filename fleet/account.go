package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/utcday"
	"github.com/clewdev/clew/internal/wording"
)

// An Account limits the jobs of an account, on all machines.
type Account struct {
	Name string `json:"name"`
	// Until is the time before which no job starts, after a limit.
	Until time.Time `json:"until,omitzero"`
	Cause Cause     `json:"cause,omitempty"`
	Text  string    `json:"text,omitempty"`
	// Held reports that no job starts until a person releases the account: the credentials were
	// refused.
	Held bool `json:"held,omitempty"`
	// DailyUSD is the maximum cost of all jobs of a day (UTC); 0 means no limit. SpentUSD is the
	// cost of the jobs of Day.
	DailyUSD float64 `json:"daily_usd,omitempty"`
	Day      string  `json:"day,omitempty"`
	SpentUSD float64 `json:"spent_usd,omitempty"`
	// Changed is the time of the last change, by a person or a program.
	Changed time.Time `json:"changed,omitzero"`
	By      string    `json:"by,omitempty"`
}

// Blocked reports whether no job of the account may start at a time, and why.
func (a *Account) Blocked(at time.Time) (why string, blocked bool) {
	switch {
	case a == nil:
		return "", false
	case a.Held:
		return "account " + a.Name + " is held: " + a.Text, true
	case at.Before(a.Until):
		return fmt.Sprintf("account %s waits until %s (%s)", a.Name, a.Until.Format(time.RFC3339), a.Cause), true
	case a.DailyUSD > 0 && a.Day == utcday.Of(at) && a.SpentUSD >= a.DailyUSD:
		return fmt.Sprintf("account %s has spent %s of %s today", a.Name, wording.Dollars(a.SpentUSD).Cents(), wording.Dollars(a.DailyUSD).Cents()), true
	}
	return "", false
}

// Accounts returns the accounts that have a record. One whose record can't be read is held until it is released.
func (f *Fleet) Accounts(ctx context.Context) ([]*Account, error) {
	all := map[string]*Account{}
	for r, err := range f.engine.Watch(ctx, Accounts, "", nil) { // which also has damaged records
		switch {
		case err != nil:
			return nil, fmt.Errorf("fleet: the accounts: %w", err)
		case r.Key == "":
			return slices.SortedFunc(maps.Values(all), func(a, b *Account) int { return strings.Compare(a.Name, b.Name) }), nil
		case r.Revision == 0:
			delete(all, r.Key)
		default:
			all[r.Key], _ = accountOf(r)
		}
	}
	return nil, fmt.Errorf("fleet: the accounts: %w", context.Cause(ctx))
}

// Release lets the jobs of an account start again.
func (f *Fleet) Release(ctx context.Context, account string) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return f.deciding(ctx, Decision{What: "release", Account: account}, func(string) error {
		return f.changeAccount(ctx, account, func(a *Account) {
			a.Until, a.Cause, a.Text, a.Held, a.By = time.Time{}, "", "", false, f.by
		})
	})
}

// SetDaily sets how much the jobs of an account may cost on a day; 0 means no limit.
func (f *Fleet) SetDaily(ctx context.Context, account string, usd float64) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return f.deciding(ctx, Decision{What: "daily budget", Account: account, BudgetUSD: &usd}, func(string) error {
		return f.changeAccount(ctx, account, func(a *Account) { a.DailyUSD, a.By = usd, f.by })
	})
}

// block lets no job of an account start before a time.
func (f *Fleet) block(ctx context.Context, account string, e *Pause) error {
	return f.changeAccount(ctx, account, func(a *Account) {
		a.By = e.Worker
		if e.Cause == ByAccount {
			a.Held, a.Cause, a.Text = true, e.Cause, e.Text
			return
		}
		until := e.Until
		if e.Cause == ByThrottling { // the requests of others may succeed
			until = earlier(until, a.Changed.Add(time.Minute))
		}
		if until.After(a.Until) {
			a.Until, a.Cause, a.Text = until, e.Cause, e.Text
		}
	})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// spend adds what a job has cost.
func (f *Fleet) spend(ctx context.Context, account string, usd float64) error {
	if usd <= 0 {
		return nil
	}
	return f.changeAccount(ctx, account, func(a *Account) {
		if day := utcday.Of(a.Changed); a.Day != day {
			a.Day, a.SpentUSD = day, 0
		}
		a.SpentUSD += usd
	})
}

// accountOf returns the account of a record. With an error the account is held: nobody knows
// whether it may be used.
func accountOf(r Record) (*Account, error) {
	a := new(Account)
	if err := json.Unmarshal(r.Data, a); err != nil {
		held := &Account{Name: r.Key, Held: true, Cause: ByAccount, Text: "its record could not be read"}
		return held, fmt.Errorf("fleet: the account %s, revision %d, is held, since its record can't be read: %w", r.Key, r.Revision, err)
	}
	return a, nil
}

func checkAccount(name string) error {
	if err := errors.Join(checkName("the account", name), refuse(name == "", "the account has no name")); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

func (f *Fleet) changeAccount(ctx context.Context, name string, change func(*Account)) error {
	if err := checkAccount(name); err != nil {
		return err
	}
	for try := 1; ; {
		a := &Account{Name: name}
		r, err := read(ctx, f.engine, Accounts, name)
		if err != nil {
			return fmt.Errorf("fleet: the account %s: %w", name, err)
		}
		if r.Revision != 0 {
			a, _ = accountOf(r) // an unreadable one is rewritten, and held
		}
		a.Changed = now()
		change(a)
		data, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("fleet: the account %s: %w", name, err)
		}
		_, err = f.engine.Set(ctx, Accounts, Record{Key: name, Revision: r.Revision, Data: data})
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			try++ // it may be counted twice then, and that is better than not at all
		}
		if try > maxTries || ctx.Err() != nil {
			return fmt.Errorf("fleet: the account %s: %w", name, err)
		}
	}
}
