// Package housetest holds the rules of the house that neither the compiler nor
// the linter sees. It is for tests.
package housetest
