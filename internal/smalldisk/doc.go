// Package smalldisk gives tests disks that they can fill. It works on Linux.
package smalldisk
