package files

// nonblock is for systems with pipes among the files.
const nonblock = 0
