package clew

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/process"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/sandbox"
	"github.com/clewdev/clew/wire"
)

// MinAgentVersion is the oldest version of Claude Code that this package is meant for. An older one
// is refused unless [Options.AllowOldAgent] is set.
const MinAgentVersion = "2.1.50"

// The first versions of Claude Code that do things in another way than those before.
const (
	// namesPrompts names all prompts that a result answers. Older versions may answer several
	// prompts with a result that names one of them, or none.
	namesPrompts = "2.1.260"
	// listsSystemPrompt takes a custom system prompt as a list, older ones only as a text.
	listsSystemPrompt = "2.1.110"
	// cancelsQueue can remove all prompts from its queue with an interrupt.
	cancelsQueue = "2.1.219"
	// blocksOnFailure can block when a hook fails.
	blocksOnFailure = version.BlocksOnFailure
	// addsConnected answers a request for in-process servers when it is connected to them. Older
	// versions may answer before.
	addsConnected = "2.1.326"
)

// olderThan reports whether a version is known and older than another one.
func olderThan(found, other string) bool { return found != "" && version.Compare(found, other) < 0 }

// agentVersion returns the version of the agent that options start, or "" if it is not known before
// the agent runs. With one prompt only it is not asked for unless an option depends on it.
func (o *Options) agentVersion(ctx context.Context, onePrompt bool) string {
	if o.AgentVersion != "" || onePrompt && !o.dependsOnVersion() {
		return o.AgentVersion
	}
	if o.Transport != nil {
		if local, ok := o.Transport.(*ProcessTransport); !ok || local.Wrap != nil {
			return ""
		}
	}
	path, err := findAgent(o.AgentPath)
	if err != nil {
		return "" // the start reports it
	}
	limit := cmp.Or(o.Limits.InitializeTimeout, defaultInitializeTimeout)
	found, err := process.Version(ctx, path, o.Dir, agentEnv(o, os.Environ()), limit)
	if err != nil {
		o.logger().Debug("the version of the agent is not known before it runs", "error", err)
	}
	return found
}

// adapt makes a plan for an agent of that version, or of an unknown one if it is empty. The error
// is an [*OptionsError] about an option that the version does not have.
func (p *launchPlan) adapt(found string, onePrompt bool) error {
	p.version = found
	if err := cmp.Or(p.options.checkOld(found), p.options.checkVersion(found)); err != nil {
		return err
	}
	const replay = "--replay-user-messages"
	asked := p.options.ReplayUserMessages || slices.Contains(p.options.ExtraArgs, replay)
	if !onePrompt && !asked && (found == "" || olderThan(found, namesPrompts)) {
		p.hidesReplays = true
		p.args = slices.Insert(p.args, len(p.args)-len(p.options.ExtraArgs), replay)
	}
	if list, ok := p.body.SystemPrompt.([]string); ok && olderThan(found, listsSystemPrompt) {
		p.body.SystemPrompt = strings.Join(list, "\n\n")
	}
	return nil
}

// checkOld returns an [*OptionsError] if an agent of that version is older than this package is
// meant for, unless the options allow that. An unknown version is taken for a new one.
func (o *Options) checkOld(found string) error {
	if o.AllowOldAgent || !version.Valid(found) || !olderThan(found, MinAgentVersion) {
		return nil
	}
	option := "AgentPath"
	if o.AgentVersion != "" {
		option = "AgentVersion"
	}
	return badOption(option, "Claude Code %s is too old: update it to version %s or newer, or set AllowOldAgent", found, MinAgentVersion)
}

// dependsOnVersion reports whether an option is set that some versions do not have, or get in
// another way.
func (o *Options) dependsOnVersion() bool {
	return o.SystemPrompt != nil && o.SystemPrompt.Custom != nil ||
		slices.ContainsFunc(optionVersions, func(v optionVersion) bool { return v.set(o) })
}

// checkVersion returns an [*OptionsError] for the first option that an agent of that version would
// ignore. An unknown version is taken for a new one.
func (o *Options) checkVersion(found string) error {
	for _, v := range optionVersions {
		if olderThan(found, v.since) && v.set(o) {
			what := "it"
			if v.part != "" {
				what = v.part
			}
			return badOption(v.option, "Claude Code %s may ignore %s: use version %s or newer", found, what, v.since)
		}
	}
	return nil
}

// checkUnplanned returns an error if an agent of that version, which was started as one of an
// unknown version, ignores an option.
func (o *Options) checkUnplanned(found string) error {
	if o.SystemPrompt != nil && o.SystemPrompt.Custom != nil && olderThan(found, listsSystemPrompt) {
		return badOption("SystemPrompt", "Claude Code %s ignores a custom prompt unless you set Options.AgentVersion", found)
	}
	return o.checkVersion(found)
}

// An optionVersion is an option, or a part of one, that older versions of the agent ignore.
type optionVersion struct {
	option string // the field of Options
	part   string // what of it, or "" for all of it
	since  string // a version that has it; one between it and the version before in testing may have it, too
	set    func(*Options) bool
}

// optionVersions lists what versions ignore without an error. Flags are not
// listed: the agent refuses unknown flags. docs/production.md has this table.
var optionVersions = slices.Concat([]optionVersion{
	{"SystemPrompt", "Custom or Append", MinAgentVersion, promptHas(func(p *SystemPrompt) bool { return p.Custom != nil || p.Append != "" })},
	{"SystemPrompt", "ExcludeDynamicSections", "2.1.97", promptHas(func(p *SystemPrompt) bool { return p.ExcludeDynamicSections })},
	{"SystemPrompt", "Fresh", "2.1.300", promptHas(func(p *SystemPrompt) bool { return p.Fresh })},
	{"Session.Title", "", "2.1.113", func(o *Options) bool { return o.Session.Title != "" }},
	{"Skills", "", "2.1.116", func(o *Options) bool { return o.Skills != nil && !slices.Contains(o.Skills, AllSkills) }},
	{"PlanModeInstructions", "", "2.1.118", func(o *Options) bool { return o.PlanModeInstructions != "" }},
	{"ForwardSubagentText", "", "2.1.119", func(o *Options) bool { return o.ForwardSubagentText }},
	{"ToolAliases", "", "2.1.142", func(o *Options) bool { return len(o.ToolAliases) > 0 }},
	{"SupportedDialogKinds", "", "2.1.169", func(o *Options) bool { return len(o.SupportedDialogKinds) > 0 }},
	{"PerTaskStop", "", "2.1.250", func(o *Options) bool { return o.PerTaskStop }},
	{"VerbatimPrompts", "", "2.1.250", func(o *Options) bool { return o.VerbatimPrompts }},
	{"AgentProgressSummaries", "", "2.1.88", func(o *Options) bool { return o.AgentProgressSummaries }},
	{"QuestionPreview", "", "2.1.88", func(o *Options) bool { return o.QuestionPreview != "" }},
	{"OnOAuthToken", "", "2.1.109", func(o *Options) bool { return o.OnOAuthToken != nil }},
	{"OnHostAuthToken", "", "2.1.150", func(o *Options) bool { return o.OnHostAuthToken != nil }},
	{"MCPServers", "Timeout or Tools of a server in this process", "2.1.250", anyServer(func(s MCPServer) bool {
		inside, ok := s.(*MCPInProcessServer)
		return ok && (inside.Timeout != 0 || len(inside.Tools) > 0)
	})},
	{"MCPServers", "Tools of another server", "2.1.109", anyServer(func(s MCPServer) bool {
		switch s := s.(type) {
		case *MCPSSEServer:
			return len(s.Tools) > 0
		case *MCPHTTPServer:
			return len(s.Tools) > 0
		}
		return false
	})},
	{"Agents", "InitialPrompt, Background or Memory", "2.1.88", anyAgent(func(a AgentDefinition) bool {
		return a.InitialPrompt != "" || a.Background || a.Memory != ""
	})},
	{"Agents", "Observers or ObserverMessage", "2.1.200", anyAgent(func(a AgentDefinition) bool {
		return len(a.Observers) > 0 || a.ObserverMessage != ""
	})},
	{"Agents", "AutoCompactWindow or OmitClaudeMD", "2.1.300", anyAgent(func(a AgentDefinition) bool {
		return a.AutoCompactWindow != 0 || a.OmitClaudeMD
	})},
	{"Sandbox", "FailIfUnavailable", "2.1.88", sandboxHas(func(s *sandbox.Settings) bool { return s.FailIfUnavailable != nil })},
	{"Sandbox", "Network.StrictAllowlist", "2.1.200", sandboxHas(func(s *sandbox.Settings) bool {
		return s.Network != nil && s.Network.StrictAllowlist
	})},
	{"Sandbox", "Network.TLSTerminate", "2.1.150", sandboxHas(func(s *sandbox.Settings) bool {
		return s.Network != nil && s.Network.TLSTerminate != nil
	})},
	{"Sandbox", "Filesystem.AllowManagedReadPathsOnly", "2.1.88", sandboxHas(func(s *sandbox.Settings) bool {
		return s.Filesystem != nil && s.Filesystem.AllowManagedReadPathsOnly
	})},
	{"Sandbox", "Credentials", "2.1.200", sandboxHas(func(s *sandbox.Settings) bool { return s.Credentials != nil })},
	{"Sandbox", "Credentials.AWSPairs", "2.1.250", sandboxHas(func(s *sandbox.Settings) bool {
		return s.Credentials != nil && len(s.Credentials.AWSPairs) > 0
	})},
}, hookVersions("2.1.88", "PermissionDenied", "StopFailure", "PostCompact", "TaskCreated", "Elicitation", "ElicitationResult",
	"InstructionsLoaded", "CwdChanged", "FileChanged"),
	hookVersions("2.1.150", "PostToolBatch", "UserPromptExpansion"),
	hookVersions("2.1.200", "MessageDisplay"),
	hookVersions("2.1.250", "DirectoryAdded"),
	hookVersions("2.1.300", "PreModelSwitch", "PostModelSwitch"),
	[]optionVersion{{"Hooks", "OnFailure", blocksOnFailure, func(o *Options) bool { return blocksOnHookFailure(o.Hooks) }}})

func promptHas(test func(*SystemPrompt) bool) func(*Options) bool {
	return func(o *Options) bool { return o.SystemPrompt != nil && test(o.SystemPrompt) }
}

func sandboxHas(test func(*sandbox.Settings) bool) func(*Options) bool {
	return func(o *Options) bool { return o.Sandbox != nil && test(o.Sandbox) }
}

func anyServer(test func(MCPServer) bool) func(*Options) bool {
	return func(o *Options) bool { return slices.ContainsFunc(slices.Collect(maps.Values(o.MCPServers)), test) }
}

func anyAgent(test func(AgentDefinition) bool) func(*Options) bool {
	return func(o *Options) bool { return slices.ContainsFunc(slices.Collect(maps.Values(o.Agents)), test) }
}

// hookVersions returns rows for events that a version is the first to have.
func hookVersions(since string, events ...hook.Event) []optionVersion {
	rows := make([]optionVersion, len(events))
	for i, event := range events {
		rows[i] = optionVersion{"Hooks", string(event), since, func(o *Options) bool { return len(o.Hooks[event]) > 0 }}
	}
	return rows
}

// promptVersions lists the fields of a prompt that versions from MinAgentVersion on ignore without
// an error, each with a version that has it. docs/production.md has this table.
var promptVersions = []struct {
	field, since string
	set          func(*wire.UserMessage) bool
}{
	{"ShouldQuery", "2.1.150", func(m *wire.UserMessage) bool { return m.ShouldQuery != nil && !*m.ShouldQuery }},
	{"ClientComposed", "2.1.250", func(m *wire.UserMessage) bool { return m.ClientComposed }},
	{"PastedContent", "2.1.300", func(m *wire.UserMessage) bool { return len(m.PastedContent) > 0 }},
	{"InlinePastes", "2.1.300", func(m *wire.UserMessage) bool { return len(m.InlinePastes) > 0 }},
}

// checkPrompt returns an [*OptionsError] for the first field of a prompt that an agent of that
// version would ignore. An unknown version is taken for a new one.
func checkPrompt(prompt *wire.UserMessage, found string) error {
	for _, v := range promptVersions {
		if olderThan(found, v.since) && v.set(prompt) {
			return badOption("UserMessage."+v.field, "Claude Code %s may ignore it: use version %s or newer", found, v.since)
		}
	}
	return nil
}

// fitsAll reports whether a prompt, which may be nil, has no field that some versions ignore.
func fitsAll(prompt *wire.UserMessage) bool {
	return prompt == nil || checkPrompt(prompt, MinAgentVersion) == nil
}

// unknownFlag returns an [*OptionsError] if an agent refused to start because of a flag that it
// does not know, and nil otherwise.
func (p *launchPlan) unknownFlag(stderr string) error {
	_, rest, found := strings.Cut(stderr, "unknown option '--")
	name, _, _ := strings.Cut(rest, "'")
	name, _, _ = strings.Cut(name, "=")
	if !found {
		return nil
	}
	for _, f := range agentFlags(p.options) {
		if f.name == name {
			return badOption(cmp.Or(f.option, "AgentPath"), "Claude Code %s has no flag --%s: update it",
				cmp.Or(p.version, "of this version"), name)
		}
	}
	return nil
}
