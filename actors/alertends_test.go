package actors

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
)

// What ended, or may have ended while no process ran, is said to be over once; what is not known is not.
func TestAStoreAndAChainThatAreBackEndTheirAlerts(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		e, told := watchedHost(rt)
		var over []health.AlertKind
		e.Ending(func(a health.Alert) {
			if a.Kind == health.AlertRecord || a.Kind == health.AlertChain && a.Subject == "" {
				over = append(over, a.Kind)
			}
		})
		head := chainviewtest.NextBlock(events.Head{Number: 10, Time: time.Unix(1_000_000, 0)})
		call := e.StoreWatch.Call(rt.Context(), "sale")
		call.Failed(errors.New("connection refused"))
		go e.look(rt.Context())
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(over) > 0 {
			t.Fatalf("over, while both are away: %v", over)
		}
		call.End()
		for range 50 {
			head = chainviewtest.NextBlock(head)
			e.View.Advance(head)
			time.Sleep(12 * time.Second)
		}
		synctest.Wait()
		want := []health.AlertKind{health.AlertRecord, health.AlertChain}
		if diff := cmp.Diff(want, over); diff != "" || len(*told) == 0 {
			t.Fatalf("told %v; over (-want +got):\n%s", kinds(*told), diff)
		}
	})
}

// The end of a quarantine ends the alerts about the work, and about what was not proven for it.
func TestTheEndOfAQuarantineEndsItsAlerts(t *testing.T) {
	slot := events.SlotID{1}.String()
	for kind, want := range map[shell.SubjectKind][]health.AlertKind{
		shell.SubjectSale:   {health.AlertWorkQuarantined, health.AlertQuarantined, health.AlertNotProving},
		shell.SubjectDuties: {health.AlertWorkQuarantined, health.AlertNotProving},
		shell.SubjectSlot:   {health.AlertWorkQuarantined},
	} {
		e, _ := watchedHost(nil)
		var over []health.AlertKind
		e.Ending(func(a health.Alert) { over = append(over, a.Kind) })
		clearLeftAlone(e.Alerts, shell.Subject{Kind: kind, Key: slot}, "it runs again")
		if diff := cmp.Diff(want, over); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
