package actors

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// watchedHost is the watch of a host, whose alerts are kept.
func watchedHost(rt *shell.Runtime) (*watch, *[]health.Alert) {
	e := &watch{Chain: chainview.New(&shell.Base{
		RT: rt, Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Yield: shelltest.NoYield,
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
	}, &chainviewtest.ChainOf{}, duty.Margin{Blocks: 6, BlockTime: time.Second})}
	var told []health.Alert
	e.Alerts = health.NewAlerts(e.Base, func(a health.Alert) { told = append(told, a) })
	return e, &told
}

func kinds(alerts []health.Alert) (k []health.AlertKind) {
	for _, a := range alerts {
		k = append(k, a.Kind)
	}
	return k
}

func TestAStoreThatIsAwayAndASilentChainAreToldOnceEachTime(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		e, told := watchedHost(rt)
		head := chainviewtest.NextBlock(events.Head{Number: 10, Time: time.Unix(1_000_000, 0)})
		e.View.Advance(head)
		go e.look(rt.Context())
		blocks := func(n int) {
			for range n { // One in 12 s.
				head = chainviewtest.NextBlock(head)
				e.View.Advance(head)
				time.Sleep(12 * time.Second)
			}
			synctest.Wait()
		}
		blocks(50)
		call := e.StoreWatch.Call(rt.Context(), "sale")
		call.Failed(errors.New("connection refused"))
		blocks(4) // 48 s
		if len(*told) != 0 {
			t.Fatalf("told of what passes by itself: %+v", *told)
		}
		blocks(50)
		call.End()
		blocks(10)
		time.Sleep(time.Hour) // No block comes.
		synctest.Wait()
		blocks(10)
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []health.AlertKind{health.AlertRecord, health.AlertChain, health.AlertChain}
		if diff := cmp.Diff(want, kinds(*told)); diff != "" {
			t.Fatalf("alerts (-want +got):\n%s", diff)
		}
	})
}
