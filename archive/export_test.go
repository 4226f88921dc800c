package archive

import "os"

// SetStep sets a function that Restore calls before each step.
func (o *RestoreOptions) SetStep(step func(name string)) { o.step = step }

// SetLink replaces the function that links files.
func (o *RestoreOptions) SetLink(link func(root *os.Root, from, to string) error) { o.link = link }

// SetStep sets a function that is called before each step of a write.
func (d *Dir) SetStep(step func()) { d.step = step }

// SetBatch sets the size at which a blob is written.
func (o *SaveOptions) SetBatch(size int) { o.batch = size }
