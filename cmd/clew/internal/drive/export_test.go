package drive

// Names for tests.
const MaxEnded = maxEnded
