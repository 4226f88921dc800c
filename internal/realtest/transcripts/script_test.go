package transcripts_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A script makes the model's replies, each with a usage of its own: a copy that counts twice, or one that is not final,
// shows.
type script struct {
	model   *clewtest.Model
	replies []reply
}

// A reply is one answer of the model, and the session and the subagent that got it, by names that the test gives them.
type reply struct {
	Session, Agent string
	Usage          transcript.Usage
}

// add makes a rule reply once, to a subagent of a session or, if agent is empty, to the session itself.
func (s *script) add(rule *clewtest.Rule, session, agent string, blocks ...wire.Block) *clewtest.Rule {
	n := len(s.replies) + 1
	u := transcript.Usage{
		InputTokens: 1000 + n, OutputTokens: 2000 + 3*n, CacheReadTokens: 4000 + 7*n, CacheCreationTokens: 900 + 30*n,
		CacheCreation5mTokens: 600 + 19*n, CacheCreation1hTokens: 300 + 11*n, ServiceTier: "standard",
	}
	s.replies = append(s.replies, reply{session, agent, u})
	return rule.Reply(blocks...).Once().
		Usage(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens).
		UsageMember("cache_creation", map[string]int{
			"ephemeral_5m_input_tokens": u.CacheCreation5mTokens, "ephemeral_1h_input_tokens": u.CacheCreation1hTokens,
		}).
		UsageMember("service_tier", u.ServiceTier)
}

// cost returns what a reply costs. All of them are of the same model.
func cost(u transcript.Usage) transcript.Money {
	money, _ := transcript.DefaultPrices().Cost(&transcript.Call{Model: "claude-opus-5-5", Usage: u})
	return money
}

// said returns the replies of a session, or of all sessions, in the order of their usages.
func (s *script) said(session string) []reply {
	var list []reply
	for _, r := range s.replies {
		if session == "" || r.Session == session {
			list = append(list, r)
		}
	}
	return sorted(list)
}

func sorted(list []reply) []reply {
	slices.SortFunc(list, func(a, b reply) int { return cmp.Compare(a.Usage.InputTokens, b.Usage.InputTokens) })
	return list
}

// told returns the replies that calls tell of. The names are those of the test.
func told(t *testing.T, calls []transcript.Call, sessions, agents map[string]string) []reply {
	t.Helper()
	var list []reply
	for _, c := range calls {
		r := reply{sessions[c.SessionID], agents[c.AgentID], c.Usage}
		if r.Session == "" || r.Agent == "" && c.AgentID != "" {
			t.Errorf("a call of nobody: %+v", c)
		}
		list = append(list, r)
	}
	return sorted(list)
}
