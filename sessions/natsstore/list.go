package natsstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Sessions returns the sessions of a project. See [sessions.Store]. The times are those of the server's clock.
func (s *Store) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	heads, err := s.heads(ctx, project)
	if err != nil {
		return nil, err
	}
	times := make(map[string]time.Time, len(heads))
	for id, head := range heads {
		times[id] = head.stored
	}
	return times, nil
}

// Summaries returns the summaries of the sessions of a project. See [sessions.Summarizer].
func (s *Store) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	heads, err := s.heads(ctx, project)
	if err != nil {
		return nil, err
	}
	summaries := make(map[string]sessions.Summary, len(heads))
	for id, head := range heads {
		var summary sessions.Summary
		if json.Unmarshal([]byte(head.summary), &summary) != nil {
			summary, err = s.summarize(ctx, wire.SessionKey{Project: project, SessionID: id})
		}
		if err != nil {
			return nil, err
		}
		summaries[id] = summary
	}
	return summaries, nil
}

// summarize reads a session whose summary is too long for a header.
func (s *Store) summarize(ctx context.Context, key wire.SessionKey) (sessions.Summary, error) {
	var summary sessions.Summary
	for text, err := range s.Load(ctx, key) {
		if err != nil {
			return summary, err
		}
		summary.Add(text)
	}
	return summary, nil
}

// Projects returns the projects that have sessions, sorted. See [sessions.ProjectLister].
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	keys, err := s.keys(ctx, s.pattern("*", "*", own))
	if err != nil {
		return nil, err
	}
	projects := map[string]bool{}
	for _, key := range keys {
		projects[key.Project] = true
	}
	return slices.Sorted(maps.Keys(projects)), nil
}

// Subpaths returns the subpaths below a session, sorted. See [sessions.Store].
func (s *Store) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if _, err := s.ready(ctx, key); err != nil {
		return nil, err
	}
	keys, err := s.keys(ctx, s.pattern(escape(key.Project), escape(key.SessionID), "*"))
	if err != nil {
		return nil, err
	}
	var subpaths []string
	for _, key := range keys {
		if key.Subpath != "" {
			subpaths = append(subpaths, key.Subpath)
		}
	}
	slices.Sort(subpaths)
	return subpaths, nil
}

// Delete removes a transcript, or a session with all that is below it. See [sessions.Store].
func (s *Store) Delete(ctx context.Context, key wire.SessionKey) error {
	subject, err := s.ready(ctx, key)
	if err != nil {
		return err
	}
	if key.Subpath == "" {
		subject = s.pattern(escape(key.Project), escape(key.SessionID), "*")
	}
	_, err = answered(ctx, s.conn, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
	if err != nil {
		return s.failed(fmt.Sprintf("delete %q", key), err)
	}
	return nil
}

// keys returns the keys of the transcripts whose subject is like the pattern.
func (s *Store) keys(ctx context.Context, pattern string) ([]wire.SessionKey, error) {
	info, err := answered(ctx, s.conn, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return s.stream.Info(ctx, jetstream.WithSubjectFilter(pattern))
	})
	if err != nil {
		return nil, s.failed("list", err)
	}
	keys := make([]wire.SessionKey, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		key, err := s.key(subject)
		if err != nil {
			return nil, s.failed("list", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
