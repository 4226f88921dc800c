package wire

// An Origin tells where a prompt came from.
type Origin struct {
	raw string

	Kind OriginKind `json:"kind" wire:"required,intern"`

	Server          string `json:"server" wire:"intern"`
	From            string `json:"from" wire:"intern"`
	FromMode        string `json:"fromMode" wire:"intern"`
	Name            string `json:"name" wire:"intern"`
	FromSession     string `json:"fromSession" wire:"intern"`
	SenderTaskID    string `json:"senderTaskId" wire:"intern"`
	Body            string `json:"body"`
	VerifiedPeerPID int    `json:"verifiedPeerPid"`
	Subkind         string `json:"subkind" wire:"intern"`
	FireReason      string `json:"fireReason" wire:"intern"`
	RunID           string `json:"runId" wire:"intern"`
	Producer        string `json:"producer" wire:"intern"`
}

// An OriginKind is a kind of sender.
type OriginKind string

// The kinds of sender. A host that passes on what a person typed has to say so
// with OriginHuman.
const (
	OriginHuman            OriginKind = "human"
	OriginChannel          OriginKind = "channel"
	OriginPeer             OriginKind = "peer"
	OriginTaskNotification OriginKind = "task-notification"
	OriginCoordinator      OriginKind = "coordinator"
	OriginUnclassified     OriginKind = "unclassified"
	OriginAutoContinuation OriginKind = "auto-continuation"
	OriginObserver         OriginKind = "observer"
	OriginObserverActivity OriginKind = "observer-activity"
	OriginVoiceCall        OriginKind = "voice-call"
)
