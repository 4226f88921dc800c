package tempconfig

import "os"

// own reports whether a file belongs to this user, as all temporary files of a user do.
func own(os.FileInfo) bool { return true }
