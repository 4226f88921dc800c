// Package export makes documents of sessions: a page, Markdown and JSON. It is
// pure: a transcript becomes a [Document], and that is written to a writer.
//
//	doc := export.New(t, nil)
//	redactor := new(export.Redactor)
//	redactor.Document(doc)
//	err := export.Write(w, doc, export.HTML, nil)
//
// A document in JSON is read back by [Read].
//
// All texts of a transcript are untrusted. On a page they are escaped, and a
// policy in its head forbids scripts and everything from elsewhere.
package export
