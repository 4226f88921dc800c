package sqlitefile

import "os"

// access opens and closes the file: on Windows, locks belong to an open file and not to a process.
func access(path string, mode Mode) error {
	flag := os.O_RDONLY
	if mode == ReadWrite {
		flag = os.O_RDWR
	}
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return file.Close()
}
