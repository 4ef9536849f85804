package page

import (
	"strconv"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

// The parts of the menu in which machines have pages.
const (
	MenuHost     = "Host"
	MenuMachines = "Machines"
)

// Then is the question about now, or about the past if the address says so.
func (q *Asked) Then() api.Then { return api.Then{At: q.Get("at")} }

// Some is the part of a list that the address asks for, by the value called name, and the link to what follows. It is
// for lists that the API answers whole.
func Some[T any](q *Asked, name string, all []T) (some []T, next *Link) {
	from, _ := strconv.ParseUint(q.Get(name), 10, 32) // What is no number is the beginning.
	begin := min(int(from), len(all))                 //nolint:gosec // 32 bits.
	end := min(begin+api.DefaultPage, len(all))
	if end < len(all) {
		next = &Link{"More", q.With(name, strconv.Itoa(end))}
	}
	return all[begin:end], next
}
