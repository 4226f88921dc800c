package clew

import "context"

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
