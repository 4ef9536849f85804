// Package problem is the form in which people and programs see an error: RFC 9457, with a stable code, a
// sentence and a hint.
//
// A Row says which error a code stands for. Its texts are in docs/errors.md, which is written by hand. A Table joins
// both and explains errors; package rows puts the one of this program together. This package knows no other of the
// program, so that a machine can bring rows of its own.
package problem

// Problem is an error as the API returns it (RFC 9457) and as commands print it.
type Problem struct {
	// Type is the page that explains the code.
	Type string `json:"type"`
	// Code never changes; programs may compare it.
	Code string `json:"code"`
	// Title is a sentence for the code, Detail for this occurrence.
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Hint is what to type or check next.
	Hint string `json:"hint"`

	is error // Row.Is of the code
}

// GetStatus and ContentType are what huma, which writes the answers of the API, wants to know of an error.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// Error is what happened.
func (p *Problem) Error() string { return p.Detail }

// Is makes errors.Is find the error that the code stands for, as if it had not crossed a process.
func (p *Problem) Is(target error) bool { return p.is == target }
