package diskspace

import "golang.org/x/sys/windows"

// Of returns the bytes of the volume of a directory: those that the user can still write,
// and all.
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
