package files

// OpenWith is like [Open] with another function that locks the file.
var OpenWith = open
