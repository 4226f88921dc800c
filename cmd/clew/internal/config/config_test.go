package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a file of settings, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// All files are read. The user's file overrides the machine's, and the project's overrides both.
func TestLoadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sources := Sources{
		Project: write(t, dir, "project", "model: a"),
		User:    write(t, dir, "user", "model: b\neffort: high"),
		System:  write(t, dir, "system", "model: c\neffort: low\nthinking: true"),
		Getenv:  environment(map[string]string{"CLEW_EXPAND": "true"}),
	}
	got := map[string]string{}
	c := Load(sources)
	for key, v := range c.Values {
		got[key] = v.String() + " from " + filepath.Base(v.Sources())
	}
	want := map[string]string{
		"model": "a from project:1", "effort": "high from user:2", "thinking": "true from system:3",
		"expand": "true from CLEW_EXPAND",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{sources.System, sources.User, sources.Project}, c.Files); diff != "" || len(c.Ignored) > 0 {
		t.Errorf("files (-want +got):\n%s, ignored %v", diff, c.Ignored)
	}
	sources.Project, sources.User = filepath.Join(dir, "none"), ""
	if c := Load(sources); len(c.Files) != 1 || c.Values["model"].String() != "c" {
		t.Errorf("with one of the machine only: %+v", c)
	}
	sources.System = filepath.Join(dir, "system", "below")
	if c := Load(sources); len(c.Files) > 0 || len(c.Problems) > 0 {
		t.Errorf("without any: %+v", c)
	}
}

// A mergeCase has a setting's values in the user's file and in the project's, and the resulting
// value with its origin.
type mergeCase struct{ user, project, want, from string }

// The file of a project adds to the user's, and restricts it. It takes no restriction away.
func TestProjectOnlyRestricts(t *testing.T) {
	t.Parallel()
	for key, cases := range map[string][]mergeCase{
		"model":          {{"opus", "haiku", "haiku", "project"}, {"opus", "", "opus", "user"}, {"", "haiku", "haiku", "project"}},
		"fallback_model": {{"[a]", "[b]", "[b]", "project"}},
		"timeout": {
			{"5m", "90s", "90s", "project"}, {"5m", "10m", "5m", "user"}, {"5m", "0s", "5m", "user"}, {"0s", "1h", "1h", "project"},
		},
		"max_turns": {{"5", "3", "3", "project"}, {"5", "50", "5", "user"}, {"5", "0", "5", "user"}, {"0", "7", "7", "project"}},
		"max_budget_usd": {
			{"2.5", "1", "1", "project"}, {"2.5", "1000", "2.5", "user"}, {"2.5", "0", "2.5", "user"}, {"", "3", "3", "project"},
		},
		"permission_mode": {
			{"plan", "default", "plan", "user"}, {"default", "plan", "plan", "project"}, {"plan", "dontAsk", "plan", "user"},
			{"dontAsk", "plan", "dontAsk", "user"}, {"dontAsk", "default", "dontAsk", "user"},
			{"bypassPermissions", "default", "default", "project"}, {"auto", "dontAsk", "dontAsk", "project"},
			{"acceptEdits", "default", "default", "project"}, {"newMode", "default", "newMode", "user"},
			{"", "plan", "plan", "project"},
		},
		"tools": {
			{"[Read, Grep]", "[Grep, Bash]", "[Grep]", "user and project"}, {"[Read]", "[Read, Bash]", "[Read]", "user"},
			{"[]", "[Bash]", "[]", "user"}, {"[Read]", "[]", "[]", "user and project"}, {"[Read]", "[default]", "[Read]", "user"},
			{"[default]", "[Read]", "[Read]", "project"}, {"", "[Read]", "[Read]", "project"},
		},
		"disallowed_tools": {
			{"[Bash]", "[WebFetch, Bash]", "[Bash, WebFetch]", "user and project"}, {"[Bash]", "[]", "[Bash]", "user"},
			{"[]", "[Bash]", "[Bash]", "user and project"}, {"", "[Bash]", "[Bash]", "project"},
		},
		"strict_mcp_config": {
			{"true", "false", "true", "user"}, {"false", "true", "true", "project"}, {"", "true", "true", "project"},
		},
	} {
		for _, tt := range cases {
			t.Run(key+" "+tt.user+" "+tt.project, func(t *testing.T) {
				t.Parallel()
				tt.check(t, key)
			})
		}
	}
}

func (tt mergeCase) check(t *testing.T, key string) {
	t.Helper()
	dir := t.TempDir()
	c := Load(Sources{
		User: write(t, dir, "user", key+": "+tt.user), Project: write(t, dir, "project", key+": "+tt.project),
		Getenv: environment(nil),
	})
	v := c.Values[key]
	from := strings.NewReplacer(dir+string(filepath.Separator), "", ":1", "").Replace(v.Sources())
	if len(c.Problems) > 0 || v.String() != tt.want || from != tt.from {
		t.Errorf("got %s from %s, want %s from %s; problems %v", v, from, tt.want, tt.from, c.Problems)
	}
	isList := v.Setting.Merge == Joins
	if ignored := tt.from == "user" && tt.project != "" && !isList; ignored != (len(c.Ignored) == 1) {
		t.Errorf("ignored: %v", c.Ignored)
	}
}

// A project does not change settings that only the user can set, and each setting that it can set
// has a rule.
func TestProjectKeepsTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := Load(Sources{
		User: write(t, dir, "user", "permission_mode: plan\ndisallowed_tools: [Bash]\ntools: [Read]\n"+
			"setting_sources: [user]\nstrict_mcp_config: true\nmax_budget_usd: 1\nallowed_tools: [Read]"),
		Project: write(t, dir, "project", "model: haiku"),
		Getenv:  environment(nil),
	})
	got := map[string]string{}
	for key, v := range c.Values {
		got[key] = v.String()
	}
	want := map[string]string{
		"permission_mode": "plan", "disallowed_tools": "[Bash]", "tools": "[Read]", "setting_sources": "[user]",
		"strict_mcp_config": "true", "max_budget_usd": "1", "allowed_tools": "[Read]", "model": "haiku",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	free := map[string]bool{
		"model": true, "fallback_model": true, "effort": true, "expand": true, "thinking": true, "timezone": true,
	}
	for _, s := range All() {
		if !s.Personal && (s.Merge == Replaces) != free[s.Key] {
			t.Errorf("a project replaces %s", s.Key)
		}
	}
}

// In the directory of the user's settings, the file there is the user's.
func TestLoadProjectIsUser(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "clew.yaml", "agent_path: x")
	c := Load(Sources{Project: path, User: path, Getenv: environment(nil)})
	if len(c.Problems) > 0 || len(c.Files) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestLoadVariables(t *testing.T) {
	t.Parallel()
	separator := string(filepath.ListSeparator)
	c := Load(Sources{
		File: write(t, t.TempDir(), "clew.yaml", "model: a\nmax_turns: 5\nexpand: true"),
		Getenv: environment(map[string]string{
			"CLEW_MODEL": "b", "CLEW_TOOLS": " Read, Bash(a,(b),c) ,,", "CLEW_ADD_DIRS": "x" + separator + "y",
			"CLEW_MAX_TURNS": "-1", "CLEW_EXPAND": "0", "CLAUDE_CONFIG_DIR": "/a,/b", "CLEW_PROJECT_ALIASES": "a=b, /c=d=e",
		}),
	})
	got := map[string]any{}
	for key, v := range c.Values {
		got[key] = v.Data()
	}
	want := map[string]any{
		"model": "b", "tools": []string{"Read", "Bash(a,(b),c)"}, "add_dirs": []string{"x", "y"}, "expand": false,
		"config_dirs": []string{"/a", "/b"}, "project_aliases": map[string]string{"a": "b", "/c=d": "e"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Problems) != 1 || c.Problems[0].Error() != "CLEW_MAX_TURNS: max_turns must be a whole number, 0 or more" {
		t.Errorf("problems: %v", c.Problems)
	}
}

// Paths are relative to the directory of the file. A program without a path is searched for in
// PATH.
func TestLoadPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	const sep = string(filepath.Separator)
	for _, tt := range []struct{ file, path, want string }{
		{"clew.yaml", "./claude", "." + sep + "claude"},
		{"clew.yaml", "bin/claude", "bin" + sep + "claude"},
		{"clew.yaml", "claude", "claude"},
		{"clew.yaml", "~/claude", filepath.Join("home", "claude")},
		{"below/clew.yaml", "./claude", "below" + sep + "claude"},
		{"below/clew.yaml", "../claude", "." + sep + "claude"},
	} {
		if err := os.MkdirAll("below", 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, ".", tt.file, "agent_path: "+tt.path)
		c := Load(Sources{File: tt.file, Home: "home", Getenv: environment(nil)})
		if got := c.Values["agent_path"].String(); got != tt.want {
			t.Errorf("%s in %s is %s, want %s", tt.path, tt.file, got, tt.want)
		}
	}
}

// Directories in a map are relative to the file's directory, and names stay as they are.
func TestLoadMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "clew.yaml", "project_aliases:\n  ~/code/a=b: A\n  old-shop: shop\n  below/x: \"A \"\n  ~/clients/*: acme\n")
	v := Load(Sources{User: path, Home: dir, Getenv: environment(nil)}).Values["project_aliases"]
	want := map[string]string{
		filepath.Join(dir, "code", "a=b"): "A", "old-shop": "shop", filepath.Join(dir, "below", "x"): "A",
		filepath.Join(dir, "clients", "*"): "acme",
	}
	if diff := cmp.Diff(any(want), v.Data()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := v.String(); !strings.Contains(text, ", old-shop: shop, ") {
		t.Errorf("as text: %s", text)
	}
	project := Load(Sources{Project: path, Getenv: environment(nil)})
	if len(project.Values) > 0 || len(project.Problems) != 1 {
		t.Errorf("a project can set it: %+v", project)
	}
}

const aliasRule = "project_aliases must be a map from projects to names, such as {~/code/shop-v2: shop, \"~/clients/acme/*\": acme}"

func TestLoadTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"max_turns: 5":                    "",
		"max_turns: 0x10":                 "",
		"max_turns: 5.5":                  "1:12: max_turns must be a whole number, 0 or more",
		"max_turns: -5":                   "1:12: max_turns must be a whole number, 0 or more",
		"max_turns: 99999999999999999999": "1:12: max_turns must be a whole number, 0 or more",
		"max_turns: \"5\"":                "1:12: max_turns must be a whole number, 0 or more",
		"max_budget_usd: 1.5":             "",
		"max_budget_usd: .inf":            "1:17: max_budget_usd must be a number, 0 or more",
		"max_budget_usd: .nan":            "1:17: max_budget_usd must be a number, 0 or more",
		"model: true":                     "1:8: model must be a text, such as opus",
		"model: {a: b}":                   "1:8: model must be a text, such as opus",
		"model: [a]":                      "1:8: model must be a text, such as opus",
		"model: !!str 5":                  "1:8: model must be a text, such as opus",
		"model: ~":                        "",
		"model: |\n  opus":                "",
		"model: \"a\\u200bb\"":            "1:8: model has an invisible character",
		"timeout: 90":                     "1:10: timeout must be a duration such as 90s or 5m",
		"settings: 5":                     "1:11: settings must be a path",
		"tools:\n- Read\n- Edit":          "",
		"tools: [[Read]]":                 "1:8: tools must be a list of texts, such as [Read, Grep, Glob]",
		"config_dirs: [\"a,b\"]":          "",
		"config_dirs: [\"a,b\", c]":       "1:14: a comma cannot be in one of several config_dirs",
		"trusted_dirs: [/a, /b]":          "",
		"trusted_dirs: [\"/a" + string(filepath.ListSeparator) + "/b\"]": "1:15: \"" + string(filepath.ListSeparator) +
			"\" cannot be in a path of trusted_dirs",
		"project_aliases: {a: b}":         "",
		"project_aliases:\n  a: b":        "",
		"project_aliases: {}":             "",
		"project_aliases: [a]":            "1:18: " + aliasRule,
		"project_aliases: a=b":            "1:18: " + aliasRule,
		"project_aliases: {a: [b]}":       "1:18: " + aliasRule,
		"project_aliases: {a: \"\"}":      "1:18: " + aliasRule,
		"project_aliases: {a: \"b=c\"}":   "1:18: " + aliasRule,
		"project_aliases: {a: \"b\\ec\"}": "1:18: project_aliases has an invisible character",
		"Model: opus":                     "1:1: unknown setting Model",
		"? [a]\n: b":                      "2:1: it is not YAML: found an invalid key for this map",
		"<<: {model: a}":                  "1:1: unknown setting <<",
		"{model: opus}":                   "",
		"\ufeffmodel: opus":               "",
		"model: opus\r\neffort: high\r\n": "",
		"just words":                      "1:1: it has no settings",
		"":                                "",
		"---\n":                           "",
	} {
		path := write(t, t.TempDir(), "clew.yaml", text)
		c := Load(Sources{File: path, Getenv: environment(nil)})
		got := ""
		if len(c.Problems) > 0 {
			got = strings.TrimPrefix(c.Problems[0].Error(), path+":")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"modl": "model", "maxTurns": "max_turns", "permission-mode": "permission_mode", "colour": "color",
		"allowedTools": "allowed_tools", "time": "", "": "", "x": "", strings.Repeat("m", 1000): "",
	} {
		if got := nearest(word); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestNearestOfNames(t *testing.T) {
	t.Parallel()
	names := []string{"mode", "model", "help", "exit", "cost", "context"}
	for word, want := range map[string]string{
		"mod" + "le": "model", "moedl": "model", "mod": "mode", "hlep": "help", "eixt": "exit", "usr": "", "h": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	got := UnknownVariables([]string{
		"CLEW_MODEL=x", "CLEW_MODL=x", "CLEW_AGENT=x", "CLEW_FAMILY=1", "CLEW_X", "PATH=x", "CLEW_AGENT_PATH=x",
	})
	want := map[string]string{"CLEW_MODL": "CLEW_MODEL", "CLEW_X": "", "CLEW_AGENT_PATH": "CLEW_AGENT"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The commented settings in a new file are valid.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, project := range []bool{true, false} {
		text := regexp.MustCompile(`(?m)^#(\w+: )`).ReplaceAllString(Template(project), "$1")
		path := write(t, t.TempDir(), "clew.yaml", text)
		sources := Sources{User: path, Getenv: environment(nil)}
		if project {
			sources = Sources{Project: path, Getenv: environment(nil)}
		}
		c := Load(sources)
		if len(c.Problems) > 0 {
			t.Errorf("project is %v: %v", project, c.Problems)
		}
		for _, s := range All() {
			if _, ok := c.Values[s.Key]; ok == (project && s.Personal) {
				t.Errorf("project is %v: %s is set: %v", project, s.Key, ok)
			}
		}
		for line := range strings.Lines(text) {
			if len(line) > 81 {
				t.Errorf("a line is long: %s", line)
			}
		}
	}
}

// Each setting has all the fields that a reader and a program need.
func TestTable(t *testing.T) {
	t.Parallel()
	keys, variables := map[string]bool{}, map[string]bool{}
	for _, s := range All() {
		if s.Doc == "" || s.Example == "" || s.Variable == "" || (s.Flag == "") != (len(s.Commands) == 0) {
			t.Errorf("%s lacks something: %+v", s.Key, s)
		}
		if named := s.Kind == File || s.Kind == Program || s.Kind == FileList; named && !s.Personal {
			t.Errorf("%s is a path, and a project's file can set it", s.Key)
		}
		if keys[s.Key] || variables[s.Variable] {
			t.Errorf("%s is there twice", s.Key)
		}
		keys[s.Key], variables[s.Variable] = true, true
	}
}

// No file of a project makes Load panic or hang, or sets a personal setting, and each problem has a
// position.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		Template(true), "agent_path: x\npermission_mode: auto", "tools: [a, &b c, *b]", "? a\n: b", "a: |\n b\n---\nc",
		"<<: *x", "{", "\t", "model: !!binary x", "- - - -", "[[[[[[", "{{{{{", "model: \"\\x", "%YAML 1.2\n---\nmodel: x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &Config{Values: map[string]Value{}}
		c.add((&parser{config: c, file: "clew.yaml", project: true}).parse([]byte(text)), true)
		for key, v := range c.Values {
			if v.Setting.Personal || v.Line < 1 || key == "permission_mode" && !v.Setting.mayBeInProject(v.Texts) {
				t.Errorf("%s is %v, from %v", key, v.Texts, v.Origin)
			}
			v.Data()
		}
		for _, p := range c.Problems {
			if p.Reason == "" || p.File == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
