// Package housetest checks the rules of this repository that neither the compiler nor the linter
// can check. It is for tests.
package housetest
