// Package contractstest holds bindings of contracts that exist for tests only: a
// verifier that believes everything, a token that refuses, one that lets its users act
// in the middle of a payment, and a probe of the public inputs. No production code may
// import it. Everything but this file is generated from ../artifacts/contractstest.json
// by ../generate.sh.
package contractstest
