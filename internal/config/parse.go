package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A parser takes settings out of a file of YAML: one mapping, with plain values and lists of them.
type parser struct {
	config *Config
	file   string
	home   string
}

func (p *parser) at(t *token.Token) Origin {
	at := Origin{File: p.file}
	if t != nil && t.Position != nil {
		at.Line, at.Column = t.Position.Line, t.Position.Column
	}
	return at
}

func (p *parser) parse(data []byte) {
	tree, err := read(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		at, reason := Origin{File: p.file}, err.Error()
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			at, reason = p.at(syntax.Token), syntax.Message
		}
		p.config.complain(at, "it is not YAML: "+reason, "")
		return
	}
	documents := 0
	for _, doc := range tree.Docs {
		if doc == nil || doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if documents++; documents > 1 {
			p.config.complain(p.at(doc.Start), "it has more than one document", "Leave out the line ---.")
			return
		}
		p.settings(doc.Body)
	}
}

// read parses YAML. What the library can't bear is an error, too.
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
		p.config.complain(p.at(key), "there is no setting "+name, hint)
		return
	}
	if entry.Value == nil || entry.Value.Type() == ast.NullType {
		return // as if it were not there
	}
	texts, ok := s.texts(entry.Value)
	if !ok {
		p.config.complain(p.at(entry.Value.GetToken()), s.Key+" "+s.wants(), "")
		return
	}
	if reason := s.fault(texts); reason != "" {
		p.config.complain(p.at(entry.Value.GetToken()), reason, "")
		return
	}
	if p.config.IsProject && !s.mayBeInProject(texts) {
		p.refuse(s, key)
		return
	}
	p.config.Values[s.Key] = Value{Setting: s, Texts: p.resolved(s, texts), Origin: p.at(key)}
}

// refuse complains about what the file of a project cannot set.
func (p *parser) refuse(s *Setting, key *token.Token) {
	reason := "the file of a project cannot set " + s.Key + ": the project may be somebody else's"
	if len(s.Harmless) > 0 {
		reason = "the file of a project can set " + s.Key + " only to " + joined(s.Harmless) +
			": the project may be somebody else's"
	}
	hint := fmt.Sprintf("Set it in your own file, see \"clew config init --user\", or by %s", s.Variable)
	if s.Flag != "" {
		hint += " or --" + s.Flag
	}
	p.config.complain(p.at(key), reason, hint+".")
}

// resolved returns paths as they are meant.
func (p *parser) resolved(s *Setting, texts []string) []string {
	switch s.Kind {
	case File, FileList:
	case Program:
		if !hasSeparator(texts[0]) {
			return texts
		}
	default:
		return texts
	}
	paths := make([]string, len(texts))
	for i, text := range texts {
		paths[i] = inPlace(text, p.file, p.home)
	}
	return paths
}

// texts returns a value of the right type.
func (s *Setting) texts(node ast.Node) ([]string, bool) {
	if !s.IsList() {
		text, ok := s.text(node)
		return []string{text}, ok
	}
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

func stringOf(node ast.Node) (string, bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	}
	return "", false
}
