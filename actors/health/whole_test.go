package health_test

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// Tests of what is said beside the causes: warnings, what a host is for, and the whole host of several members.

func TestAMemberIsWarnedOfTheOthers(t *testing.T) {
	f := inGoodOrder()
	if w := health.Warnings(f); len(w) > 0 {
		t.Fatalf("a host of one process: %+v", w)
	}
	f.Members = health.MembersFacts{
		Member: "north", Owner: "north", TermSince: then, MayOwnKnown: true, MayOwn: []events.Member{"north", "west"},
	}
	f.Supply.Offers[0].Member = "north"
	if w := health.Warnings(f); len(w) > 0 || health.Judge(f).Selling != health.Yes {
		t.Fatalf("all are well: %+v", w)
	}
	f.Members.Silent = []health.SilentMember{{Member: "south", Heard: then}}
	f.Members.MayOwn = []events.Member{"north"}
	w := health.Warnings(f)
	if len(w) != 2 || !strings.Contains(w[0].Reason, "south (last in the record at 2025-06-15 15:06:40Z)") ||
		w[0].Alert != health.AlertMember || !strings.Contains(w[1].Reason, "only member north may take the term") {
		t.Fatalf("%+v", w)
	}
	f.Members.MayOwn = nil
	if w := health.Warnings(f); !strings.Contains(w[1].Reason, "no living member may take the term") || w[1].Hint == "" {
		t.Fatalf("%+v", w)
	}
	f.Members.Certificate, f.Members.CertificateEnds = "/certs/north.crt", then
	if w := health.Warnings(f); w[2].Alert != health.AlertCertificate || !strings.Contains(w[2].Hint, "cluster certs") ||
		!strings.Contains(w[2].Reason, "/certs/north.crt of this member ends at 2025-06-15 15:06:40Z") {
		t.Fatalf("%+v", w)
	}
	f.Members.LeaseAway, f.Members.LeaseAwaySince = "refused", then
	if w := health.Warnings(f); w[3].Code != "lease-away" || !strings.Contains(w[3].Hint, "cluster.etcd") ||
		w[3].Reason != "etcd does not know that this member is alive since 2025-06-15 15:06:40Z: refused" {
		t.Fatalf("%+v", w)
	}
	if j := health.Judge(f); j.Selling != health.Yes || j.Proving != health.Yes {
		t.Fatalf("a warning is taken for a cause: %+v", j)
	}
}

// What nothing on offer fitted so far proves nothing of the next request.
func TestRefusalsOfAllNewestRequestsAreWarnedOf(t *testing.T) {
	f := inGoodOrder()
	for _, criterion := range []string{"price", "collateral", "price"} {
		f.Supply.Refused = append(f.Supply.Refused, health.RefusedRequest{
			Criterion: criterion, Reason: "it pays 1", At: then,
		})
	}
	f.Supply.NoneFits, f.Supply.Waiting = "every queued slot was looked at and none fits", "3 slots: no collateral"
	w := health.Warnings(f)
	if len(w) != 2 || w[0].Code != "offers-refused" || w[1].Code != "none-fits" ||
		w[0].Reason != "refused 3 of the last 3 requests: collateral 1, price 2; the newest at 2025-06-15 15:06:40Z: it pays 1" ||
		w[1].Reason != "every queued slot was looked at and none fits: 3 slots: no collateral" || health.Judge(f).Selling != health.Yes {
		t.Fatalf("%+v", w)
	}
	f.Supply.Paused, f.Supply.Offers[0].Free = true, 0 // The causes say why.
	if w := health.Warnings(f); len(w) != 0 {
		t.Fatalf("%+v", w)
	}
}

func TestAHostThatIsNotThereToSellIsNotBlamedForSellingNothing(t *testing.T) {
	f := health.Facts{Stage: health.Running, SectorsAtStake: 2, SectorsBegun: 1, Sources: health.SourcesFacts{None: true}}
	if j := health.Judge(f); j.Purpose != health.ProvingSectors || j.Selling != health.No || j.Proving != health.Yes ||
		len(j.Causes) != 0 {
		t.Fatalf("%+v", j)
	}
	f.SectorsAtStake = 0
	if j := health.Judge(f); j.Purpose != health.SealingSectors {
		t.Fatalf("%+v", j)
	}
	f.SectorsBegun, f.Validating = 0, true
	if j := health.Judge(f); j.Purpose != health.Validating || len(j.Causes) != 0 || len(health.Warnings(f)) != 0 {
		t.Fatalf("%+v", j)
	}
	f.ValidatorStopped = "its record makes no sense"
	w := health.Warnings(f)
	if j := health.Judge(f); j.Purpose != "" || len(w) != 1 || !strings.Contains(w[0].Reason, f.ValidatorStopped) {
		t.Fatalf("%+v, %+v", j, w)
	}
	f.ValidatorStopped = ""
	f.Supply.Offers = []health.Offered{{}} // It wants to sell.
	if j := health.Judge(f); j.Purpose != "" || j.Causes[0].Code != "offers-disabled" {
		t.Fatalf("%+v", j)
	}
}

// What keeps one member from selling keeps the host only if that is the owner, or all that is on offer is its own.
func TestAHostSellsWhileAnotherMemberCan(t *testing.T) {
	for name, c := range map[string]struct {
		so            func(*health.Facts)
		owner, offers events.Member
		host, here    health.Answer
		hosts, its    string
	}{
		"all is well": {func(*health.Facts) {}, "south", "south", health.Yes, health.No, "", "nothing is on offer"},
		"the disk of one is full, another has space": {
			func(f *health.Facts) { f.Disk.Full = true }, "north", "south", health.Yes, health.No, "", "the disk is full",
		},
		"the disk is full of the one with space": {
			func(f *health.Facts) { f.Disk.Full = true }, "south", "north", health.No, health.No,
			"do not sell: north (the disk is full", "the disk is full",
		},
		"the event store of the owner": {
			func(f *health.Facts) { f.Record.Away = true }, "north", "south", health.No, health.No,
			"the event store does not answer", "the event store does not answer",
		},
		"the event store of another one": {
			func(f *health.Facts) { f.Record.Away = true }, "south", "south", health.NotKnown, health.No,
			"the event store does not answer", "the event store does not answer",
		},
	} {
		f := inGoodOrder()
		f.Members = health.MembersFacts{Member: "north", Owner: c.owner, TermSince: then}
		f.Supply.Offers[0].Member = c.offers
		c.so(&f)
		host, here := health.JudgeHost(f), health.Judge(f)
		if host.Selling != c.host || here.Selling != c.here {
			t.Errorf("%s: the host sells: %s, the member: %s; %+v", name, host.Selling, here.Selling, host)
		}
		if c.hosts == "" != (len(host.Causes) == 0) ||
			c.hosts != "" && !strings.Contains(host.Causes[0].Reason, c.hosts) ||
			!strings.Contains(here.Causes[0].Reason, c.its) {
			t.Errorf("%s: %+v; %+v", name, host.Causes, here.Causes)
		}
	}
}

func TestATokenThatCannotPriceStorageIsWarnedOf(t *testing.T) {
	f := inGoodOrder()
	f.LeastPrice = "2,783,138,807.808 USDX/GiB/month (1 base unit/byte/s)"
	w := health.Warnings(f)
	if len(w) != 1 || w[0].Code != "token-cannot-price" || !strings.Contains(w[0].Reason, f.LeastPrice) ||
		!strings.Contains(w[0].Hint, "chain.contract") || health.Judge(f).Selling != health.Yes {
		t.Fatalf("%+v", w)
	}
}
