package actors_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
)

// exchanged are the messages that one room sends to another.
func exchanged() map[string]any {
	return map[string]any{
		"sales.Command": sales.Command{}, "sales.Look": sales.Look{}, "sales.Changed": sales.Changed{},
		"sales.Trouble": sales.Trouble{}, "sales.Quarantined": sales.Quarantined{}, "sales.Begin": sales.Begin{},
		"sales.GiveUp": sales.GiveUp{}, "sales.RecordMoved": sales.RecordMoved{},
		"ledger.Command": ledger.Command{}, "ledger.ReservationOf": ledger.ReservationOf{}, "ledger.Found": ledger.Found{},
		"ledger.All": ledger.All{}, "ledger.Match": ledger.Match{}, "ledger.Show": ledger.Show{},
		"ledger.Freed":  ledger.Freed{},
		"queue.Command": queue.Command{}, "queue.AvoidedClient": queue.AvoidedClient{}, "queue.Show": queue.Show{}, "queue.ListPromised": queue.ListPromised{},
		"queue.WaitsFor": queue.WaitsFor{},
		"queue.Wake":     queue.Wake{}, "queue.TryMarket": queue.TryMarket{}, "queue.Unpaid": queue.Unpaid{},
		"queue.MarketNews":    queue.MarketNews{},
		"chainview.HeadMoved": chainview.HeadMoved{}, "validator.News": validator.News{},
		"sectors.Create": sectors.Create{}, "sectors.AddPiece": sectors.AddPiece{}, "sectors.DropPiece": sectors.DropPiece{},
		"sectors.StartPacking": sectors.StartPacking{}, "sectors.Restart": sectors.Restart{},
		"sectors.ForceState": sectors.ForceState{}, "sectors.Terminate": sectors.Terminate{},
		"sectors.Remove": sectors.Remove{}, "sectors.TryAgain": sectors.TryAgain{}, "sectors.List": sectors.List{},
		"sectors.Show": sectors.Show{}, "sectors.Standing": sectors.Standing{},
		"downtime.Order": downtime.Order{}, "alerts.Order": alerts.Order{},
	}
}

// Messages between rooms could be sent to another process: they hold no function, no channel
// and no reference to an actor.
func TestMessagesBetweenRoomsArePlainData(t *testing.T) {
	for name, msg := range exchanged() {
		if what := notPlain(reflect.TypeOf(msg), map[reflect.Type]bool{}); what != "" {
			t.Errorf("%s holds %s", name, what)
		}
	}
	if notPlain(reflect.TypeFor[struct{ Reply []func() }](), map[reflect.Type]bool{}) == "" {
		t.Error("a function was not found")
	}
}

// notPlain names the part of a type that is not plain data; empty: there is none.
func notPlain(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || t.Implements(reflect.TypeFor[proto.Message]()) {
		return ""
	}
	seen[t] = true
	if t == reflect.TypeFor[shell.Ref]() || t == reflect.TypeFor[shell.Part]() {
		return "a reference to an actor"
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return "a " + t.String()
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return notPlain(t.Elem(), seen)
	case reflect.Map:
		return notPlain(t.Key(), seen) + notPlain(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if what := notPlain(f.Type, seen); what != "" {
				return f.Name + ": " + what
			}
		}
	}
	return ""
}

// Every exported message of a room is checked above: each type of package sales, and those that
// the others declare as messages.
func TestEachMessageBetweenRoomsIsLookedAt(t *testing.T) {
	listed := exchanged()
	found := 0
	for _, room := range []string{"sales", "ledger", "queue", "sectors", "validator"} {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			for _, message := range messagesIn(t, name, room == "sales") {
				found++
				if _, ok := listed[room+"."+message]; !ok {
					t.Errorf("%s: the message %s is not in the list", name, message)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d messages were found", found)
	}
}

// messagesIn returns the exported types of a file that are messages.
func messagesIn(t *testing.T, name string, all bool) (names []string) {
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE || !all && !strings.HasPrefix(g.Doc.Text(), "Messages") {
			continue
		}
		for _, s := range g.Specs {
			if n := s.(*ast.TypeSpec).Name; n.IsExported() {
				names = append(names, n.Name)
			}
		}
	}
	return names
}
