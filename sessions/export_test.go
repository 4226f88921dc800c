package sessions

import "os"

// SetWrite replaces the write of a folder's appends.
func (f *Folder) SetWrite(write func(*os.File, []byte) (int, error)) { f.write = write }
