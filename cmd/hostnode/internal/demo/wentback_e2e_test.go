//go:build e2e

package demo

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
)

// recordServer is `hostnode eventstore` in a process of its own, always at the same address.
type recordServer struct {
	*host
	r       *rig
	dir     string
	address string
}

// urlOf is what a host connects to.
func urlOf(address string) string { return "esdb://" + address + "?tls=false&defaultDeadline=2000" }

func (r *rig) serveRecord(address string) *recordServer {
	s := &recordServer{r: r, dir: r.t.TempDir(), address: address}
	s.host = &host{binary: r.box.binary, logTo: io.Discard, lines: make(chan line, 4096), args: []string{
		"eventstore", "--insecure", "--data-dir", s.dir, "--listen", address,
	}}
	r.must(s.start())
	r.t.Cleanup(func() { _ = s.kill() })
	go (&oneBox{host: s.host}).drain(r.t.Context())
	return s
}

// backup copies the record while the server is down, and starts it again.
func (s *recordServer) backup(to string) {
	s.r.t.Helper()
	s.r.must(s.kill())
	s.r.must(os.CopyFS(to, os.DirFS(filepath.Join(s.dir, "events"))))
	s.r.must(s.start())
}

// restore starts the server on another record, and returns the one that it had.
func (s *recordServer) restore(from string) (before string) {
	s.r.t.Helper()
	s.r.must(s.kill())
	before = filepath.Join(s.r.t.TempDir(), "events")
	s.r.must(os.Rename(filepath.Join(s.dir, "events"), before))
	s.r.must(os.Rename(from, filepath.Join(s.dir, "events")))
	s.r.must(s.start())
	return before
}

// events is the number of events in a record whose server is down.
func (r *rig) events(dir string) events.Position {
	r.t.Helper()
	store, _, err := embedded.Open(dir, embedded.Config{})
	r.must(err)
	defer store.Close()
	head, err := store.Head(r.t.Context())
	r.must(err)
	return head
}

// says waits until a command beside the host prints all of some texts.
func (r *rig) says(command string, words ...string) {
	r.t.Helper()
	args := append(strings.Fields(command), "--data-dir", r.box.dir.Root)
	last := ""
	r.await(command+" to say "+strings.Join(words, ", "), func(ctx context.Context) bool {
		out, err := exec.CommandContext(ctx, r.box.binary, args...).Output()
		if last = string(out); err != nil {
			return false
		}
		for _, word := range words {
			if !strings.Contains(last, word) {
				return false
			}
		}
		return true
	})
}

// sells waits until the status says SELLING; as says would, NOT SELLING has the word too.
func (r *rig) sells() {
	r.t.Helper()
	r.await("status to say SELLING", func(ctx context.Context) bool {
		out, err := exec.CommandContext(ctx, r.box.binary, "status", "--data-dir", r.box.dir.Root).Output()
		return err == nil && strings.HasPrefix(string(out), "SELLING")
	})
}

// offers puts room for some slots on offer.
func (r *rig) offers(id byte, req events.Request) {
	r.t.Helper()
	collateral, _ := req.Ask.CollateralPerSlot()
	r.box.until(r.t, "the availability", func(ctx context.Context) bool {
		_, err := api.AddAvailability.Ask(ctx, r.box.api, api.Send(api.Offer{
			ID: events.AvailabilityID{id}.String(), Size: 4 * req.Ask.SlotSize * events.Bytes(req.Ask.Slots),
			DurationSeconds: 86_400, MinPrice: "1", Collateral: collateral.MulSaturating(4 * req.Ask.Slots).String(),
		}))
		return err == nil
	})
}

// goneBack is a host that sells three slots, until its server is restored to before the sale.
// It returns the whole record when the host has been started on the older one.
func goneBack(t *testing.T) (r *rig, s *recordServer, whole string, req events.Request) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	const beat, period = 150 * time.Millisecond, 60 * time.Second
	r = newRig(t, beat, period, false, "--store", urlOf(address))
	s = r.serveRecord(address)
	req = r.client.request(period, 1)
	req.Expiry, req.Ask.Duration = 2*period, 12*period
	r.offers(1, req)
	backup := filepath.Join(t.TempDir(), "backup")
	s.backup(backup)
	r.offers(2, req)
	r.must(r.client.enter(t.Context(), r.remote, requester.Price(req).MulSaturating(2)))
	req.ID, err = r.client.post(t.Context(), req)
	r.must(err)
	r.await("all slots are filled", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) >= 3 })
	r.nextProof()

	// While the host runs, nothing is written, and proofs go out.
	older := r.events(backup)
	whole = s.restore(backup)
	r.says("status", "NOT SELLING", "the event store has gone back", "bring the right event store back")
	for range 2 {
		r.nextPeriod()
		r.nextProof()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.must(r.box.stop(ctx))
	r.must(s.kill())
	if n := r.events(filepath.Join(s.dir, "events")); n != older {
		t.Errorf("the older record has %d events, and had %d", n, older)
	}
	r.must(s.start())

	// A start continues the older record, names what is lost, and proves.
	r.must(r.box.start())
	r.says("status", "NOT SELLING", "the event store is older than this host",
		"1 offers and", "offer "+events.AvailabilityID{2}.String())
	r.nextPeriod()
	r.nextProof()
	return r, s, whole, req
}

// finished waits for the end of all sales; the auditor must report the loss and nothing worse.
func (s *recordServer) finished(req events.Request, slots int) {
	r := s.r
	r.t.Helper()
	r.box.settled(r.t, r.client, req)
	out, err := exec.CommandContext(r.t.Context(), r.box.binary, "audit", "--json", "--store", urlOf(s.address)).Output()
	if err != nil || !strings.Contains(string(out), `"record-lost"`) {
		r.t.Errorf("audit: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	r.must(r.box.stop(ctx))
	r.must(s.kill())
	if missed := (&oneBox{dir: datadir.At(s.dir)}).account(r.t, slots, "record-lost"); missed > 0 {
		r.t.Errorf("%d proofs were missed", missed)
	}
}

func TestAHostWhoseRecordGoesBackProvesAndSellsAgainWhenItIsTold(t *testing.T) {
	r, s, _, first := goneBack(t)
	r.offers(2, first)
	r.says("drain --resume", "selling again")
	next := first
	next.Nonce[0]++
	next.Ask.Duration = 5 * r.period
	var err error
	next.ID, err = r.client.post(t.Context(), next)
	r.must(err)
	r.await("all slots are filled", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) >= 6 })
	r.box.settled(t, r.client, next)
	s.finished(first, 6)
}

// The way back, as docs/record.md describes it: now the right store lacks what was written to
// the wrong one.
func TestAHostThatWasStartedOnTheWrongRecordGoesOnWithTheRightOne(t *testing.T) {
	r, s, whole, req := goneBack(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.must(r.box.stop(ctx))
	s.restore(whole)
	r.must(r.box.start())
	r.says("status", "NOT SELLING", "the event store is older than this host")
	r.nextProof()
	r.says("drain --resume", "selling again")
	r.sells()
	s.finished(req, 3)
}
