package record

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/clewdev/clew/clewtest"
)

// controlRequests are what the host of control_requests asks for.
var controlRequests = []string{
	`{"subtype":"set_permission_mode","mode":"acceptEdits"}`,
	`{"subtype":"set_model","model":"claude-sonnet-5"}`,
	`{"subtype":"mcp_status"}`,
	`{"subtype":"get_context_usage"}`,
	`{"subtype":"list_models"}`,
	`{"subtype":"get_session_cost"}`,
	`{"subtype":"get_settings"}`,
	`{"subtype":"get_binary_version"}`,
	`{"subtype":"rename_session","title":"A new name"}`,
	`{"subtype":"no_such_request"}`,
}

// hostScenarios are about what the host is asked, and asks.
var hostScenarios = []*Scenario{
	{
		Name:  "control_requests",
		About: "The host asks for one thing after the other, without waiting for the answers.",
		Model: func(s *Stage) {
			// The agent tries the new model out before it says that it is set.
			s.Model.When(func(r *clewtest.Request) bool { return r.Background() && s.Hold("renamed") }).Reply(clewtest.Text("ok"))
			s.Model.On("Hi").Reply(clewtest.Text("Hi.")).Usage(100, 42, 300, 20)
		},
		Play: func(h *Host) {
			h.Turn("Hi")
			for i, body := range controlRequests {
				h.Request(fmt.Sprintf("req_a%d", i), body)
			}
			h.AwaitResponses("req_a0", "req_a8")
			h.Release("renamed")
			for i := range controlRequests {
				h.AwaitResponses(fmt.Sprintf("req_a%d", i))
			}
		},
	},
	{
		Name:    "question_to_user",
		About:   "The agent asks the user a question, and the host has the answer.",
		Prompts: []string{"Paint it"},
		Own:     []string{"Which colour?", "Red"},
		Tool: func(*Question) string {
			return fmt.Sprintf(`{"behavior":"allow","updatedInput":{"questions":%s,"answers":{"Which colour?":"Red"}}}`, question)
		},
		Model: func(s *Stage) {
			s.Model.On("Paint it").Reply(clewtest.ToolUse("AskUserQuestion", rawInput(`{"questions":`+question+`}`))).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "plan_mode",
		About:   "The agent writes a plan, asks whether to leave plan mode, and the host agrees.",
		Args:    []string{"--permission-mode", "plan"},
		Prompts: []string{"Plan it"},
		Model: func(s *Stage) {
			writePlan(s, "# Plan\n\n1. Write a note.\n2. Stop.\n")
			s.Model.OnToolResult("created successfully").Reply(clewtest.ToolUse("ExitPlanMode", nil)).Usage(100, 42, 300, 20)
			done(s)
		},
	},
}

// planFile is the end of the path at which the agent wants a plan. It says so in a reminder.
var planFile = regexp.MustCompile(`/plans/[a-z0-9-]+\.md`)

// writePlan makes the model write a plan to the file that the request names.
func writePlan(s *Stage, plan string) {
	var rule *clewtest.Rule
	rule = s.Model.When(func(r *clewtest.Request) bool {
		name := planFile.Find(r.Body)
		if name == nil || r.Prompt() != "Plan it" {
			return false
		}
		rule.Reply(write(filepath.Join(s.Model.ConfigDir(), string(name)), plan))
		return true
	})
	rule.Reply().Usage(100, 42, 300, 20) // replaced when it matches; a rule without an answer is not asked
}

// question is what the agent asks in question_to_user.
const question = `[{"question":"Which colour?","header":"Colour","multiSelect":false,` +
	`"options":[{"label":"Red","description":"Like a rose"},{"label":"Blue","description":"Like the sky"}]}]`
