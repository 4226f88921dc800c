package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
)

// A parser reads settings from a YAML file: one mapping, with plain values, and lists and maps of them.
type parser struct {
	config  *Config // gets the problems
	file    string
	home    string
	project bool // the file is a project's
	values  map[string]Value
}

func (p *parser) at(t *token.Token) Origin {
	at := Origin{File: p.file}
	if t != nil && t.Position != nil {
		at.Line, at.Column = t.Position.Line, t.Position.Column
	}
	return at
}

// parse returns a file's settings.
func (p *parser) parse(data []byte) map[string]Value {
	p.values = map[string]Value{}
	tree, err := read(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		at, reason := Origin{File: p.file}, err.Error()
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			at, reason = p.at(syntax.Token), syntax.Message
		}
		p.config.complain(at, "it is not YAML: "+reason, "")
		return p.values
	}
	documents := 0
	for _, doc := range tree.Docs {
		if doc == nil || doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if documents++; documents > 1 {
			p.config.complain(p.at(doc.Start), "it contains more than one document", "Leave out the line ---.")
			break
		}
		p.settings(doc.Body)
	}
	return p.values
}

// read parses YAML. A panic of the library is returned as an error.
func read(data []byte) (tree *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return yamlparser.ParseBytes(data, 0)
}

func (p *parser) settings(body ast.Node) {
	switch body := body.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		for _, entry := range body.Values {
			p.setting(entry)
		}
	case *ast.MappingValueNode:
		p.setting(body)
	default:
		p.config.complain(p.at(body.GetToken()), "it has no settings", "Write a setting as in: model: opus")
	}
}

func (p *parser) setting(entry *ast.MappingValueNode) {
	key := entry.Key.GetToken()
	name := ""
	if text, ok := entry.Key.(*ast.StringNode); ok {
		name = text.Value
	} else if key != nil {
		name = key.Value
	}
	s := find(name)
	if s == nil {
		hint := `Run "clew config" for a list of settings.`
		if near := nearest(name); near != "" {
			hint = "Did you mean " + near + "?"
		}
		p.config.complain(p.at(key), "unknown setting "+name, hint)
		return
	}
	if entry.Value == nil || entry.Value.Type() == ast.NullType {
		return // null means that the setting is not set
	}
	texts, ok := s.texts(entry.Value)
	if !ok {
		p.config.complain(p.at(entry.Value.GetToken()), s.Key+" "+s.requirement(), "")
		return
	}
	if reason := s.problem(texts); reason != "" {
		p.config.complain(p.at(entry.Value.GetToken()), reason, "")
		return
	}
	if p.project && !s.mayBeInProject(texts) {
		p.refuse(s, key)
		return
	}
	p.values[s.Key] = Value{Setting: s, Texts: p.resolved(s, texts), Origin: p.at(key)}
}

// refuse reports a setting that the file of a project cannot set.
func (p *parser) refuse(s *Setting, key *token.Token) {
	reason := "a project's file cannot set " + s.Key + ": the project may be someone else's"
	if len(s.Harmless) > 0 {
		reason = "a project's file can set " + s.Key + " only to " + joined(s.Harmless) +
			": the project may be someone else's"
	}
	hint := fmt.Sprintf("Set it in your own file, see \"clew config init --user\", or by %s", s.Variable)
	if s.Flag != "" {
		hint += " or --" + s.Flag
	}
	p.config.complain(p.at(key), reason, hint+".")
}

// resolved returns the texts of a setting, with paths resolved.
func (p *parser) resolved(s *Setting, texts []string) []string {
	switch s.Kind {
	case File, FileList:
	case Map:
		return p.resolvedPairs(texts)
	case Program:
		if !hasSeparator(texts[0]) {
			return texts
		}
	default:
		return texts
	}
	paths := make([]string, len(texts))
	for i, text := range texts {
		paths[i] = resolvePath(text, p.file, p.home)
	}
	return paths
}

// resolvedPairs returns the elements of a map, with directories resolved. A text without a separator
// is the name of a project.
func (p *parser) resolvedPairs(texts []string) []string {
	resolved := make([]string, len(texts))
	for i, text := range texts {
		from, to, _ := CutPair(text) // it was checked
		if from == "~" || hasSeparator(from) {
			from = resolvePath(from, p.file, p.home)
		}
		resolved[i] = from + "=" + to
	}
	return resolved
}

// texts returns the value of a node, and whether it has the type of the setting.
func (s *Setting) texts(node ast.Node) ([]string, bool) {
	if !s.IsList() {
		text, ok := s.text(node)
		return []string{text}, ok
	}
	if s.isMap() {
		return pairsOf(node, s.Kind == KeyMap)
	}
	return textsOf(node)
}

// textsOf returns the elements of a list of texts.
func textsOf(node ast.Node) ([]string, bool) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	texts := []string{}
	for _, element := range sequence.Values {
		text, ok := stringOf(element)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func (s *Setting) text(node ast.Node) (string, bool) {
	switch node := node.(type) {
	case *ast.BoolNode:
		return strconv.FormatBool(node.Value), s.Kind == Switch
	case *ast.IntegerNode:
		return fmt.Sprint(node.Value), s.Kind == Count || s.Kind == Amount
	case *ast.FloatNode:
		return strconv.FormatFloat(node.Value, 'f', -1, 64), s.Kind == Amount
	}
	text, ok := stringOf(node)
	return text, ok && s.Kind != Switch && s.Kind != Count && s.Kind != Amount
}

// pairsOf returns the elements of a map from texts to texts, in their order. If lists are allowed,
// a value may also be several texts, which are joined by spaces.
func pairsOf(node ast.Node, lists bool) ([]string, bool) {
	var entries []*ast.MappingValueNode
	switch node := node.(type) {
	case *ast.MappingNode:
		entries = node.Values
	case *ast.MappingValueNode:
		entries = append(entries, node)
	default:
		return nil, false
	}
	pairs := []string{}
	for _, entry := range entries {
		from, isText := stringOf(entry.Key)
		to, ok := stringOf(entry.Value)
		if list, isList := textsOf(entry.Value); lists && isList {
			to, ok = strings.Join(list, " "), true
		}
		if !isText || !ok || strings.Contains(to, "=") {
			return nil, false
		}
		pairs = append(pairs, from+"="+to)
	}
	return pairs, true
}

func stringOf(node ast.Node) (string, bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	}
	return "", false
}

// nearest returns the key that is most similar to a word, or "" if none is similar enough.
func nearest(word string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "-", "_"))
	keys := make([]string, len(table))
	for i := range table {
		keys[i] = table[i].Key
		if strings.ReplaceAll(keys[i], "_", "") == strings.ReplaceAll(word, "_", "") {
			return keys[i]
		}
	}
	return Nearest(word, keys)
}

// Nearest returns the name that is most similar to a word, or "" if none is similar enough. Of two
// names that are equally similar, it prefers the one of the word's length.
func Nearest(word string, names []string) string {
	best, distance := "", 3 // with three changes it is another word
	for _, name := range names {
		d := fuzzy.Distance(word, name)
		if d > len(name)/2 || d > distance || d == distance && (best == "" || len(name) != len(word) || len(best) == len(word)) {
			continue
		}
		best, distance = name, d
	}
	return best
}

// UnknownVariables returns the variables in environ, each NAME=VALUE, that start with CLEW_ and are
// not settings. The value of each is the most similar variable of a setting, or "".
func UnknownVariables(environ []string) map[string]string {
	unknown := map[string]string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, "CLEW_")
		if !ours || name == familyVariable || isVariable(name) {
			continue
		}
		unknown[name] = ""
		if near := find(nearest(rest)); near != nil {
			unknown[name] = near.Variable
		}
	}
	return unknown
}

// familyVariable marks the processes of an agent. Package process sets it.
const familyVariable = "CLEW_FAMILY"

func isVariable(name string) bool {
	return slices.ContainsFunc(table, func(s Setting) bool { return s.Variable == name })
}

func hasSeparator(path string) bool { return slices.ContainsFunc([]byte(path), os.IsPathSeparator) }
