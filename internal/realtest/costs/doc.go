// Package costs has the tests of what package transcript says of costs against the agent's own accounts: the table of
// prices, and what becomes of an account when a session goes on.
package costs
