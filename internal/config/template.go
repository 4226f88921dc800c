package config

import "strings"

const head = `# Settings of clew. A line without its # counts. Flags win over variables, and
# those over this file. "clew config" shows what is set, and where.
`

const projectHead = `#
# This file belongs to a project: whoever uses that gets these settings in place
# of those of the own file. What could run programs, widen permissions or name
# files elsewhere cannot be set here.
`

// Template returns a file with all settings as comments, of a project or of a user.
func Template(project bool) string {
	var b strings.Builder
	b.WriteString(head)
	if project {
		b.WriteString(projectHead)
	}
	for i := range table {
		s := &table[i]
		if project && s.Personal {
			continue
		}
		doc := s.Doc
		if project && len(s.Harmless) > 0 {
			doc += "\nHere it is " + joined(s.Harmless) + "."
		}
		b.WriteString("\n# " + strings.ReplaceAll(doc, "\n", "\n# ") + "\n")
		b.WriteString("#" + s.Key + ": " + s.Example + "\n")
	}
	return b.String()
}
