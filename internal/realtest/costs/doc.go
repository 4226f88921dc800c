// Package costs compares our costs with the agent's own accounts: the price table, and what becomes
// of an account when a session is continued.
package costs
