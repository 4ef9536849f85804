package exits

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/storage"
)

// The rows of this file end before our fill: no token of ours ever moves.

var letGo = []string{"DataDeleted", "SaleSettled"}

func brief() terms {
	return terms{probability: noProofs, expiry: 160 * time.Second, duration: 400 * time.Second, maxLoss: 1}
}

// The dispersal window reaches this host only when no fill is possible any more.
func TestASlotThatThePolicyRefusesIsNotBegun(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	asked := make(chan struct{}, 1)
	h := w.newHost(options{slots: 3, mayReserve: func(q admission.MayReserve) admission.Permission {
		select {
		case asked <- struct{}{}:
		default:
		}
		return admission.Permission{Opens: q.ExpiresAt, Reason: "it is too far away"}
	}})
	before := w.count()
	r := w.post(brief())
	h.until("the request has expired", func() bool { return w.now().After(before.at.Add(200 * time.Second)) })
	if len(asked) == 0 {
		t.Error("the policy was never asked")
	}
	for index := range r.Ask.Slots {
		c := callOf(r, index)
		if told := h.events(c.Slot); len(told) > 0 {
			t.Errorf("a sale of slot %d was begun: %v", index, h.names(c.Slot))
		}
		facts, err := h.market.Slot(t.Context(), c.Request, c.Index)
		ok(t, err)
		if facts.SlotState != events.SlotFree || !facts.CanReserve {
			t.Errorf("slot %d is %s, and the contract would take our reservation: %t; want a free slot as it was",
				index, facts.SlotState, facts.CanReserve)
		}
	}
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, nil)
}

func TestASlotWithoutPlaceForAReservationIsLetGo(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	h.reserve.close()
	rivals := []rival{w.rival("a"), w.rival("b"), w.rival("c")}
	before := w.count()
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.SlotReserving)
	for _, rival := range rivals {
		rival.reserves(c)
	}
	h.closeOffer()
	h.reserve.open()
	h.settles(c, outcome{
		phase: sale.Ignored, slot: events.SlotFree, reserved: true, // All reservations are taken, none by us.
		story: append([]string{"CapacityReserved", "SaleIgnored"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"client": -3 * seconds(400), "contract": 3 * seconds(400)})
}

func TestASlotThatARivalTookBeforeOurReservationIsLetGo(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	h.reserve.close()
	a := w.rival("a")
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.SlotReserving)
	h.closeOffer()
	before := w.count()
	a.takes(c)
	h.settles(c, outcome{
		phase: sale.Ignored, slot: events.SlotFilled,
		story: append([]string{"CapacityReserved", "SaleIgnored"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"contract": collateral})
}

func TestASlotThatARivalTookAfterOurReservationIsLetGo(t *testing.T) {
	w := newWorld(t)
	h := w.newHost(options{})
	h.prover.stop(errBusy)
	a := w.rival("a")
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.InitialProving)
	h.closeOffer()
	before := w.count()
	a.takes(c)
	h.settles(c, outcome{
		phase: sale.Ignored, slot: events.SlotFilled,
		story: append([]string{"SlotStored", "SaleIgnored"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"contract": collateral})
}

// The rival's fill comes in the very block in which ours would have: ours is mined
// and refused, which costs gas and nothing else.
func TestAFillThatIsBeatenInItsBlockIsLetGo(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	a := w.rival("a")
	r := w.post(brief())
	c := h.picks(r)
	a.reserves(c)
	before := w.count()
	h.fillsInVain(c, func() { a.fills(c) })
	h.closeOffer()
	h.settles(c, outcome{
		phase: sale.Ignored, slot: events.SlotFilled,
		story: append([]string{"InitialProofMade", "SaleIgnored"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"contract": collateral})
}

func TestASlotForWhichNoCollateralIsLeftIsLetGo(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{slots: 3, collateral: uint64(collateral) * 3 / 2})
	before := w.count()
	r := w.post(brief())
	var hosted int64
	h.until("the request has expired and nothing is left of it", func() bool {
		st, err := h.host.Status(t.Context())
		return err == nil && w.now().After(before.at.Add(200*time.Second)) && len(st.Sales) == 0
	})
	for index := range r.Ask.Slots {
		s := h.sale(events.SlotIDOf(r.ID, index))
		switch s.Phase {
		case sale.Cancelled:
			hosted += earned(s.FilledAt, s.ExpiresAt)
		case sale.Ignored:
			want := append([]string{"SaleStarted", "SaleIgnored"}, letGo...)
			if got := h.names(s.Slot); !endsWith(got, want) {
				t.Errorf("the story of slot %d is %v, want it to end %v", index, got, want)
			}
		case sale.Unknown: // It was not even begun.
		default:
			t.Errorf("slot %d ended as %s", index, s.Phase)
		}
	}
	if hosted == 0 {
		t.Error("no slot was hosted, although there was collateral for one")
	}
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": -hosted, "host": hosted})
}

func TestARequestThatExpiresBeforeOurFillReturnsEverything(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	h.prover.stop(errBusy)
	before := w.count()
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.InitialProving)
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotFree, reserved: true,
		story: append([]string{"SlotStored", "SaleCancelled"}, letGo...),
	})
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, nil)
}

func TestARequestThatFailsBeforeOurFillReturnsEverything(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{noOffer: true, slots: 3})
	h.prover.stop(errBusy)
	r, rivals := h.running(brief())
	before := w.count()
	c := callOf(r, 0)
	rivals[0].frees(c)
	h.comesTo(c, sale.InitialProving)
	rivals[1].frees(callOf(r, 1)) // One more than the request may lose.
	h.settles(c, outcome{
		phase: sale.Failed, slot: events.SlotFailed, story: append([]string{"SlotStored", "SaleFailed"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, nil)
	w.withdraws(r)
	w.moved(before, map[string]int64{"client": 3 * seconds(400), "contract": -3 * seconds(400)})
}

func TestDataThatIsNotWhatWasAskedForIsLetGo(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{source: w.liar()})
	before := w.count()
	r := w.post(brief())
	c := h.picks(r)
	h.settles(c, outcome{
		phase: sale.Errored, slot: events.SlotFree, reserved: true,
		story: append([]string{"SlotReserved", "SaleErrored"}, letGo...),
	})
	h.until("the request has expired", func() bool { return w.now().After(before.at.Add(200 * time.Second)) })
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, nil)
}

// liar serves the manifest, and other bytes than it names.
func (w *world) liar() string {
	honest := storage.NewHandler(shared.data)
	manifest := "/ipfs/" + shared.data.CID().String()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		answer := httptest.NewRecorder()
		honest.ServeHTTP(answer, in)
		body := slices.Clone(answer.Body.Bytes())
		if in.URL.Path != manifest && len(body) > 100 {
			body[50] ^= 1
		}
		out.WriteHeader(answer.Code)
		_, _ = out.Write(body)
	}))
	w.t.Cleanup(server.Close)
	return server.URL
}

func TestDataThatRotsBeforeTheFillIsRepaired(t *testing.T) {
	w := newWorld(t)
	h := w.newHost(options{})
	h.prover.stop(errBusy)
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.InitialProving)
	h.closeOffer()
	h.rot(c)
	h.prover.stop(nil)
	h.comesTo(c, sale.Proving)
	if names := strings.Join(h.names(c.Slot), " "); !strings.Contains(names, "SlotStored SlotDamaged SlotRepaired") {
		t.Fatalf("the story: %s", names)
	}
}

// rot changes a byte of a slot on the disk.
func (h *host) rot(c events.SlotCall) {
	h.t.Helper()
	path := filepath.Join(h.options.dir, "slots", "slots", strings.TrimPrefix(c.Slot.String(), "0x"), "blocks")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(h.t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, 1000)
	ok(h.t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b, 1000)
	ok(h.t, err)
	ok(h.t, f.Close())
}
