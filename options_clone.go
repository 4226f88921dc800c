package clew

import (
	"maps"
	"slices"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/sandbox"
)

// clone returns a copy that shares no slice, map or struct with o. Nil becomes the zero value.
// Functions, the transport, the logger and the handlers of MCP servers are not copied.
func (o *Options) clone() *Options {
	if o == nil {
		return &Options{}
	}
	c := *o
	for _, list := range []*[]string{
		&c.Env, &c.InheritEnv, &c.ExtraArgs, &c.AddDirs, &c.FallbackModels, &c.Betas, &c.Tools, &c.AllowedTools,
		&c.DisallowedTools, &c.MCPConfigFiles, &c.Skills, &c.SupportedDialogKinds, &c.Debug.Categories,
	} {
		*list = slices.Clone(*list)
	}
	c.Session.ResumeDropsTurn = clonePointer(o.Session.ResumeDropsTurn)
	c.Thinking = clonePointer(o.Thinking)
	c.SystemPrompt = o.SystemPrompt.clone()
	c.ToolAliases = maps.Clone(o.ToolAliases)
	c.Sandbox = cloneSandbox(o.Sandbox)
	c.Agents = cloneMap(o.Agents, AgentDefinition.clone)
	c.MCPServers = cloneMap(o.MCPServers, cloneServer)
	c.Plugins = slices.Clone(o.Plugins)
	c.Hooks = cloneMap(o.Hooks, cloneMatchers)
	c.Settings.Sources = slices.Clone(o.Settings.Sources)
	c.Reconnect = clonePointer(o.Reconnect)
	c.Trace = clonePointer(o.Trace)
	return &c
}

func (p *SystemPrompt) clone() *SystemPrompt {
	c := clonePointer(p)
	if c != nil {
		c.Custom = slices.Clone(c.Custom)
	}
	return c
}

func (a AgentDefinition) clone() AgentDefinition {
	for _, list := range []*[]string{&a.Tools, &a.DisallowedTools, &a.Skills, &a.MCPServers, &a.Observers} {
		*list = slices.Clone(*list)
	}
	a.OwnMCPServers = cloneMap(a.OwnMCPServers, cloneServer)
	return a
}

// cloneServer turns a nil pointer into a nil interface, because the check looks for that.
func cloneServer(server MCPServer) MCPServer {
	switch s := server.(type) {
	case *MCPStdioServer:
		if s != nil {
			c := *s
			c.Args, c.Env = slices.Clone(s.Args), maps.Clone(s.Env)
			return &c
		}
	case *MCPSSEServer:
		if s != nil {
			c := *s
			c.Headers, c.Tools = maps.Clone(s.Headers), slices.Clone(s.Tools)
			return &c
		}
	case *MCPHTTPServer:
		if s != nil {
			c := *s
			c.Headers, c.Tools = maps.Clone(s.Headers), slices.Clone(s.Tools)
			return &c
		}
	case *MCPInProcessServer:
		if s != nil {
			c := *s
			c.Tools = slices.Clone(s.Tools)
			return &c
		}
	}
	return nil
}

func cloneSandbox(s *sandbox.Settings) *sandbox.Settings {
	c := clonePointer(s)
	if c == nil {
		return nil
	}
	c.FailIfUnavailable = clonePointer(s.FailIfUnavailable)
	c.AutoAllowBashIfSandboxed = clonePointer(s.AutoAllowBashIfSandboxed)
	c.AllowUnsandboxedCommands = clonePointer(s.AllowUnsandboxedCommands)
	c.ExcludedCommands = slices.Clone(s.ExcludedCommands)
	c.Network = cloneNetwork(s.Network)
	c.Filesystem = cloneFilesystem(s.Filesystem)
	c.Credentials = cloneCredentials(s.Credentials)
	c.IgnoreViolations = cloneMap(s.IgnoreViolations, slices.Clone[[]string])
	if c.Ripgrep = clonePointer(s.Ripgrep); c.Ripgrep != nil {
		c.Ripgrep.Args = slices.Clone(s.Ripgrep.Args)
	}
	return c
}

func cloneNetwork(n *sandbox.Network) *sandbox.Network {
	c := clonePointer(n)
	if c == nil {
		return nil
	}
	for _, list := range []*[]string{&c.AllowedDomains, &c.DeniedDomains, &c.AllowUnixSockets, &c.AllowMachLookup} {
		*list = slices.Clone(*list)
	}
	c.TLSTerminate = clonePointer(n.TLSTerminate)
	return c
}

func cloneFilesystem(f *sandbox.Filesystem) *sandbox.Filesystem {
	c := clonePointer(f)
	if c == nil {
		return nil
	}
	for _, list := range []*[]string{&c.AllowWrite, &c.DenyWrite, &c.DenyRead, &c.AllowRead} {
		*list = slices.Clone(*list)
	}
	return c
}

func cloneCredentials(s *sandbox.Credentials) *sandbox.Credentials {
	c := clonePointer(s)
	if c == nil {
		return nil
	}
	c.Files, c.EnvVars, c.AWSPairs = slices.Clone(s.Files), slices.Clone(s.EnvVars), slices.Clone(s.AWSPairs)
	for _, list := range [][]sandbox.Credential{c.Files, c.EnvVars} {
		for i := range list {
			list[i].MaskClaims, list[i].InjectHosts = slices.Clone(list[i].MaskClaims), slices.Clone(list[i].InjectHosts)
		}
	}
	c.SigV4 = clonePointer(s.SigV4)
	return c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cloneMap copies a map and, with clone, its values. A nil map stays nil.
func cloneMap[M ~map[K]V, K comparable, V any](m M, clone func(V) V) M {
	c := maps.Clone(m)
	for k, v := range c {
		c[k] = clone(v)
	}
	return c
}

func cloneMatchers(matchers []hook.Matcher) []hook.Matcher {
	c := slices.Clone(matchers)
	for i := range c {
		c[i].Hooks = slices.Clone(c[i].Hooks)
	}
	return c
}
