package files

import "errors"

// OpenWith is like [Open] with another function that locks the file.
var OpenWith = open

const RenameLimit = renameLimit

var Retry = retry

// unlinked is a file system without hard links.
type unlinked struct{ system }

func (unlinked) Link(string, string) error { return errors.ErrUnsupported }

// PublishWithoutLinks gives a draft a name that must be new.
func PublishWithoutLinks(draft, name string) error { return publish(unlinked{}, draft, name, true) }
