package clew

import (
	"context"
	"time"
)

// Models returns the models that the session can use.
func (s *Session) Models(ctx context.Context) ([]ModelInfo, error) {
	answer, err := call[modelsAnswer](ctx, s, "list_models", nil)
	if err != nil {
		return nil, err
	}
	return answer.Models, nil
}

type modelsAnswer struct {
	Models []ModelInfo `json:"models"`
}

// BinaryVersion returns the version of the agent binary.
func (s *Session) BinaryVersion(ctx context.Context) (*BinaryVersion, error) {
	return call[BinaryVersion](ctx, s, "get_binary_version", nil)
}

// A BinaryVersion is the version of an agent binary.
type BinaryVersion struct {
	Version string `json:"version"`
	// BuildTime is zero if the agent does not say.
	BuildTime time.Time `json:"buildTime"`
}

// Status returns what the agent's own status screen shows, as texts for people.
func (s *Session) Status(ctx context.Context) ([]StatusSection, error) {
	answer, err := call[statusAnswer](ctx, s, "get_status", nil)
	if err != nil {
		return nil, err
	}
	return answer.Sections, nil
}

type statusAnswer struct {
	Sections []StatusSection `json:"sections"`
}

// A StatusSection is a part of the status screen.
type StatusSection struct {
	Title string      `json:"title"`
	Rows  []StatusRow `json:"rows"`
}

// A StatusRow is a line of the status screen.
type StatusRow struct {
	// Label is empty for a value that is a sentence of its own.
	Label string `json:"label"`
	Value string `json:"value"`
}
