package downtime

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
)

func TestTheFiguresOfANodeSayHowNearItsSuspensionIs(t *testing.T) {
	none := map[string]float64{}
	for name, c := range map[string]struct {
		change  func(*core.Service)
		windows string
		want    map[string]float64 // beside the limit of 0.2; hostnode_node_ is left out
	}{
		"online":       {nil, "iiiiiiiiii", map[string]float64{"lost": 0, "left": 3 * window.Seconds()}},
		"one is lost":  {nil, "iiiiiiiiio", map[string]float64{"lost": 0.1, "left": 2 * window.Seconds()}},
		"two are lost": {nil, "iiiiiiiioo", map[string]float64{"lost": 0.2, "left": window.Seconds()}},
		"suspended":    {nil, "iiiiiiiooo", map[string]float64{"lost": 0.3}},
		"never": {
			func(r *core.Service) { r.SuspensionOff = true }, "iiiiiiiooo", map[string]float64{"lost": 0.3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := reading(map[events.Node][]core.Event{"a": life(t, tenWindows(c.change), c.windows)})
			short := map[*api.Figure]string{lostFigure: "lost", limitFigure: "limit", suspensionFigure: "left"}
			got := map[string]float64{}
			measure(nodes.Reading, func(f *api.Figure, value float64, labels ...string) {
				if got[short[f]] = value; !cmp.Equal(labels, []string{"a"}) {
					t.Errorf("%s: %q", f.Name, labels)
				}
			})
			c.want["limit"] = 0.2
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	measure(reading(nil).Reading, func(f *api.Figure, _ float64, _ ...string) { none[f.Name]++ })
	if len(none) > 0 {
		t.Errorf("without nodes: %v", none)
	}
}

func TestWhatIsScoredIsALossToo(t *testing.T) {
	nodes := reading(map[events.Node][]core.Event{"a": life(t, tenWindows(func(r *core.Service) {
		r.RuleSet = core.Scored
	}), "iiiiiiiibo")})
	lost, most, known := lostOf(nodes.rows()[0])
	if diff := cmp.Diff([]float64{0.15, 0.4}, []float64{lost, most}); diff != "" || !known {
		t.Errorf("%v %s", known, diff)
	}
	if left, comes := suspendedIn(nodes.rows()[0]); !comes || left <= 0 || left > 10*time.Hour {
		t.Errorf("%v %v", left, comes)
	}
}
