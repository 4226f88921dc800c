package drive

// What tests use.
const MaxEnded = maxEnded
