package diskspace

import "golang.org/x/sys/windows"

// Of returns the number of bytes that the user can still write to the volume of a directory, and
// its total size.
func Of(dir string) (free, total int64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var available, all, allFree uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, &all, &allFree); err != nil {
		return 0, 0, err
	}
	return int64(available), int64(all), nil
}
