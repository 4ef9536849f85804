// Package standin is a broker for tests and demonstrations, by the protocol of package broker. It finds no storage:
// what it says follows from its switches and from what it was asked before, never from time or chance. All of it is in
// memory.
//
// For those who test, who bring the token as well:
//
//	PUT /switches         how it answers from now on: Switches
//	PUT /lists/{cid}      which pieces an aggregate has, as an array of CIDs; a real broker would fetch the list
//	PUT /decisions/{cid}  how the deal about an offered aggregate stands from now on: Answer
package standin

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/broker"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
)

// Switches say how the broker answers. With their zero values all deals stay PENDING.
type Switches struct {
	// ApproveAfter and RejectAfter are how often it is asked about an aggregate until it approves or rejects it; 0:
	// never. What it will approve is SIGNED before.
	ApproveAfter, RejectAfter int
	// Bad are pieces because of which it rejects an aggregate, and says so; of Poison it does not say it. Unknown are
	// pieces that it calls bad in addition, in each aggregate that it rejects.
	Bad, Poison, Unknown []string
	// Sign makes it wait for a signature before anything else. Silent keeps connections open without an answer.
	// Contradict makes it approve what it has rejected.
	Sign, Silent, Contradict bool
	// LoseEvery nth answer is cut off after the work is done, and RepeatEvery nth is the last one about the aggregate
	// again, without work; 0: none.
	LoseEvery, RepeatEvery int
	// Other is the aggregate about which it answers, whatever it is asked.
	Other string
}

// Answer is what the broker says of an aggregate.
type Answer struct {
	Aggregate string            `json:"aggregate"`
	Status    events.DealStatus `json:"status"`
	Deal      string            `json:"deal,omitempty"`
	Bad       []string          `json:"bad,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Awaits    string            `json:"awaits,omitempty"`
}

// maxBody limits a request, in bytes: a list of all pieces of an aggregate of 32 GiB has 17 MiB.
const maxBody = 32 << 20

type standIn struct {
	mu       sync.Mutex
	switches Switches
	asked    int // about aggregates
	lists    map[string][]string
	deals    map[string]*deal
}

type deal struct {
	offer  broker.OfferBody
	polls  int
	signed bool
	said   Answer
	last   Answer // that was sent
}

// New returns a broker that takes requests with that token.
func New(token string) http.Handler {
	b, mux := &standIn{lists: map[string][]string{}, deals: map[string]*deal{}}, http.NewServeMux()
	mux.HandleFunc("PUT /switches", steer(b, func(_ string, s Switches) { b.switches = s }))
	mux.HandleFunc("PUT /lists/{cid}", steer(b, func(cid string, list []string) { b.lists[cid] = list }))
	mux.HandleFunc("PUT /decisions/{cid}", steer(b, func(cid string, a Answer) {
		if d := b.deals[cid]; d != nil {
			d.said = a
		}
	}))
	mux.HandleFunc("PUT /aggregates/{cid}", b.answer(b.offer))
	mux.HandleFunc("GET /aggregates/{cid}", b.answer(b.poll))
	mux.HandleFunc("POST /aggregates/{cid}/signature", b.answer(b.sign))
	mux.HandleFunc("DELETE /aggregates/{cid}", b.answer(b.withdraw))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

// steer takes what a test sets.
func steer[T any](b *standIn, set func(cid string, value T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var value T
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&value); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		set(r.PathValue("cid"), value)
		w.WriteHeader(http.StatusNoContent)
	}
}

// answer answers requests about an aggregate. The work has a status; that of success comes with how the deal stands.
func (b *standIn) answer(work func(cid string, r *http.Request) int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		cid, s, status := r.PathValue("cid"), b.switches, http.StatusOK
		if s.Silent {
			b.mu.Unlock()
			_, _ = io.Copy(io.Discard, r.Body) // Only then it is noticed that the client has gone.
			<-r.Context().Done()
			b.mu.Lock()
			return
		}
		b.asked++
		if b.deals[cid] == nil || !every(s.RepeatEvery, b.asked) {
			status = work(cid, r)
		}
		w.WriteHeader(status)
		if every(s.LoseEvery, b.asked) {
			_ = http.NewResponseController(w).Flush() // Otherwise a client may ask again by itself.
			panic(http.ErrAbortHandler)
		}
		if status == http.StatusOK {
			_ = json.NewEncoder(w).Encode(b.deals[cid].last) // The client may have gone.
		}
	}
}

func every(n, count int) bool { return n > 0 && count%n == 0 }

// say notes what is answered about a deal.
func (b *standIn) say(d *deal) int {
	d.last = d.said
	d.last.Aggregate = cmp.Or(b.switches.Other, d.said.Aggregate)
	if b.switches.Sign && !d.signed && d.said.Status == events.DealPending {
		d.last.Awaits = "signature"
	}
	return http.StatusOK
}

func (b *standIn) offer(cid string, r *http.Request) int {
	var offer broker.OfferBody
	if json.NewDecoder(r.Body).Decode(&offer) != nil || offer.Aggregate != cid {
		return http.StatusBadRequest
	}
	if b.deals[cid] == nil {
		b.deals[cid] = &deal{offer: offer, said: Answer{Aggregate: cid, Status: events.DealPending, Deal: "d-" + cid}}
	}
	if b.deals[cid].offer != offer {
		return http.StatusConflict
	}
	return b.say(b.deals[cid])
}

func (b *standIn) poll(cid string, _ *http.Request) int {
	d, s := b.deals[cid], b.switches
	if d == nil {
		return http.StatusNotFound
	}
	d.polls++
	bad, poisoned := common(b.lists[cid], s.Bad), len(common(b.lists[cid], s.Poison)) > 0
	switch {
	case d.said.Status == events.DealRejected && s.Contradict:
		d.said = Answer{Aggregate: cid, Status: events.DealApproved, Deal: d.said.Deal}
	case d.said.Status == events.DealRejected, d.said.Status == events.DealApproved, s.Sign && !d.signed:
	case len(bad) > 0 || poisoned || s.RejectAfter > 0 && d.polls >= s.RejectAfter:
		d.said.Status, d.said.Bad, d.said.Reason = events.DealRejected, append(bad, s.Unknown...), "not stored"
	case s.ApproveAfter > 0 && d.polls >= s.ApproveAfter:
		d.said.Status = events.DealApproved
	case s.ApproveAfter > 0:
		d.said.Status = events.DealSigned
	}
	return b.say(d)
}

// common are the pieces of a list that are in another one, too.
func common(list, with []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(cid string) bool { return !slices.Contains(with, cid) })
}

// sign takes a signature that is of the account of the offer, for what was offered.
func (b *standIn) sign(cid string, r *http.Request) int {
	var s broker.SignatureBody
	d := b.deals[cid]
	if d == nil {
		return http.StatusNotFound
	}
	err := json.NewDecoder(r.Body).Decode(&s)
	signer, bad := keys.SignerOf(broker.Deal{
		ChainID: d.offer.ChainID, Account: d.offer.Account, Broker: strings.ToLower(r.Host), Aggregate: cid,
		Size: d.offer.Size, Name: d.said.Deal,
	}.Text(), s.Signature)
	if err != nil || bad != nil || signer.String() != d.offer.Account {
		return http.StatusUnprocessableEntity
	}
	if d.signed = true; d.said.Status == events.DealPending {
		d.said.Status = events.DealSigned
	}
	return b.say(d)
}

func (b *standIn) withdraw(cid string, _ *http.Request) int {
	d := b.deals[cid]
	if d != nil && (d.said.Status == events.DealApproved || d.said.Status == events.DealRejected) {
		return http.StatusConflict
	}
	delete(b.deals, cid)
	return http.StatusNoContent
}

// Run serves a new broker at an address, such as 127.0.0.1:0, until ctx ends. It prints its URL on a line first, for
// the process that has started this one.
func Run(ctx context.Context, listen, token string, out io.Writer) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("stand-in broker: %w", err)
	}
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	server := &http.Server{Handler: New(token), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("stand-in broker: %w", err)
	}
	return nil
}
