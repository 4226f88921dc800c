package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// SetRemoteControl lets the user's other devices take part in the session, or ends that. The agent refuses where the
// account or the endpoint does not permit it. The answer is empty, or of a shape that is not known to this package.
func (s *Session) SetRemoteControl(ctx context.Context, enabled bool) (wire.JSON, error) {
	answer, err := call[wire.JSON](ctx, s, "remote_control", remoteControlRequest{enabled})
	if err != nil {
		return "", err
	}
	return *answer, nil
}

type remoteControlRequest struct {
	Enabled bool `json:"enabled"`
}

// EnableChannel lets an MCP server write messages into the session. The agent refuses unless the server is connected
// and comes from a plugin of a marketplace.
func (s *Session) EnableChannel(ctx context.Context, server string) error {
	return s.Control(ctx, "channel_enable", mcpServerRequest{server}, nil)
}

// LaunchUltrareview starts a review of the project on machines of the agent's maker, which costs money. The fields of
// the request are not known to this package: fields is anything that marshals to a JSON object, or nil.
func (s *Session) LaunchUltrareview(ctx context.Context, fields any) (*UltrareviewLaunch, error) {
	return call[UltrareviewLaunch](ctx, s, "ultrareview_launch", fields)
}

// An UltrareviewLaunch says whether a review was started.
type UltrareviewLaunch struct {
	// Status is error if it was not, and Message says why, for people.
	Status  string `json:"status"`
	Message string `json:"message"`
	// GateBlocker names what keeps the account from it, such as kill_switch.
	GateBlocker string `json:"gate_blocker"`
}

// ChromeStatus returns whether the agent can use a Chrome browser, as its own dialog shows it.
func (s *Session) ChromeStatus(ctx context.Context) (*ChromeStatus, error) {
	return call[ChromeStatus](ctx, s, "get_chrome_dialog", nil)
}

// A ChromeStatus says how Claude in Chrome stands.
type ChromeStatus struct {
	// Allowed says whether the account and its organization may use it, and Subscriber whether the account pays for it.
	Allowed    bool `json:"allowed"`
	Subscriber bool `json:"subscriber"`
	// Installed says whether the extension is there, and Connected whether the session can use it now.
	Installed bool `json:"installed"`
	Connected bool `json:"connected"`
	// EnabledByDefault is the setting for new sessions, and AtStartup how this one began.
	EnabledByDefault bool `json:"enabled_by_default"`
	AtStartup        bool `json:"at_startup"`
	WSL              bool `json:"wsl"`
	// URLs are pages for the user, by what they are for, such as install.
	URLs map[string]string `json:"urls"`
}

// ChromeBrowsers returns the browsers that the session can use, as the agent lists them: the shape of the list is not
// known to this package. The agent refuses unless [ChromeStatus.Connected].
func (s *Session) ChromeBrowsers(ctx context.Context) (wire.JSON, error) {
	answer, err := call[wire.JSON](ctx, s, "get_chrome_browsers", nil)
	if err != nil {
		return "", err
	}
	return *answer, nil
}

// SelectChromeBrowser chooses the browser that the session uses. The fields of the request are not known to this
// package: fields is anything that marshals to a JSON object. The agent refuses unless [ChromeStatus.Connected].
func (s *Session) SelectChromeBrowser(ctx context.Context, fields any) error {
	return s.Control(ctx, "select_chrome_browser", fields, nil)
}

// SetChromeBrowserHints tells an agent on another machine of the user's browsers. Every other agent refuses. The
// fields of the request are not known to this package: fields is anything that marshals to a JSON object.
func (s *Session) SetChromeBrowserHints(ctx context.Context, fields any) error {
	return s.Control(ctx, "set_chrome_browser_hints", fields, nil)
}

// SubmitFeedback sends the maker of the agent a report of the user, which can hold the conversation. The fields of the
// request are not known to this package: fields is anything that marshals to a JSON object.
func (s *Session) SubmitFeedback(ctx context.Context, fields any) (*FeedbackReceipt, error) {
	return call[FeedbackReceipt](ctx, s, "submit_feedback", fields)
}

// SubmitSurveyFeedback sends the maker of the agent the answer to a survey. The fields of the request are not known to
// this package: fields is anything that marshals to a JSON object.
func (s *Session) SubmitSurveyFeedback(ctx context.Context, fields any) (*FeedbackReceipt, error) {
	return call[FeedbackReceipt](ctx, s, "submit_survey_feedback", fields)
}

// A FeedbackReceipt says what became of feedback.
type FeedbackReceipt struct {
	// ID is empty if nothing was sent, and UnavailableReason says why, for people.
	ID                string `json:"feedback_id"`
	UnavailableReason string `json:"unavailable_reason"`
}

// RateMessage tells the maker of the agent what the user thinks of a message. Nil is refused by the agent, and so is a
// rating without Sentiment or Surface. It does not look whether there is such a message.
func (s *Session) RateMessage(ctx context.Context, rating *MessageRating) error {
	return s.Control(ctx, "message_rated", rating, nil)
}

// A MessageRating is what the user thinks of a message.
type MessageRating struct {
	MessageUUID string          `json:"messageUuid"`
	Sentiment   RatingSentiment `json:"sentiment"`
	Surface     RatingSurface   `json:"surface"`
	// Cleared takes the rating back.
	Cleared bool `json:"cleared"`
}

// A RatingSentiment says whether a user likes a message.
type RatingSentiment string

// The sentiments that the agent knows.
const (
	RatingPositive RatingSentiment = "positive"
	RatingNegative RatingSentiment = "negative"
)

// A RatingSurface is the part of a message that is rated.
type RatingSurface string

// The surfaces that the agent knows.
const (
	RatingToolUse RatingSurface = "tool_use"
	RatingText    RatingSurface = "assistant_text"
)
