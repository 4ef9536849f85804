package sectors_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/prover/commd"
	provers "github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

// realHost is a host whose sealer proves possession over files in memory, to a contract that verifies it.
type realHost struct {
	*host
	disk   *sectorstest.Memory
	pieces map[string][]byte // payloads, by CID
	opened int
}

func (r *realHost) Open(_ context.Context, p events.SectorPiece) (io.ReadCloser, error) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.opened++
	b, ok := r.pieces[p.CID]
	if !ok {
		return nil, fmt.Errorf("piece %s: %w", p.CID, events.ErrNoSuchPiece)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (r *realHost) List() (all []events.SectorPiece, _ error) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	for cid, b := range r.pieces {
		all = append(all, events.SectorPiece{CID: cid, Payload: events.Bytes(len(b))})
	}
	return all, nil
}

// piece returns a piece of so many bytes that the source has.
func (r *realHost) piece(name string, n int) events.SectorPiece {
	r.t.Helper()
	data := []byte(strings.Repeat(name+" ", n/(len(name)+1)+1))[:n]
	calc := commd.NewCalc()
	if _, err := calc.Write(data); err != nil {
		r.t.Fatal(err)
	}
	of, err := calc.Commitment()
	if err != nil {
		r.t.Fatal(err)
	}
	p := events.SectorPiece{CID: commd.CID(of.Root), Size: events.Bytes(of.Size), Payload: events.Bytes(of.Payload)}
	r.pieces[p.CID] = data
	return p
}

func ref(n uint64) events.SectorRef { return events.SectorRef{Provider: me, Number: n, Size: size} }

// damage changes the bytes of a part of sector 1.
func (r *realHost) damage(part events.SectorPart, change func([]byte) []byte) {
	r.disk.Change(ref(1), part, change)
}

func flipped(b []byte) []byte {
	for i := range b {
		b[i] ^= 1
	}
	return b
}

func inReality(t *testing.T, story func(r *realHost)) {
	t.Helper()
	inTime(t, func(h *host) {
		h.kill()
		r := &realHost{host: h, disk: sectorstest.NewMemory(), pieces: map[string][]byte{}}
		judge := provers.NewCommD(r.disk, h.world.cfg.SealLeaves)
		h.world.verifies = func(domain string, on events.SectorOnChain, n uint64, about events.Hash, proof []byte) bool {
			c := events.SealContext{Ticket: on.Ticket, CommD: on.CommD, CommR: on.CommR, Seed: about}
			if domain == "seal" {
				return judge.Verify(ref(n), c, proof) == nil
			}
			return judge.VerifyChallenge(ref(n), c, about, h.world.cfg.DailyLeaves, proof) == nil
		}
		h.change = func(d *sectors.Deps) {
			d.Sealer, d.Files, d.Pieces = provers.NewCommD(r.disk, h.world.cfg.SealLeaves), r.disk, r
		}
		h.start()
		story(r)
	})
}

// Damage is found by the next challenge, declared as a fault, and repaired from the pieces, with the same commitments;
// then the sector is proven. A damaged tree is only rebuilt: the data is there, and no fault is declared.
func TestADamagedSectorIsCured(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(r *realHost)
		fault bool
	}{
		"its data": {func(r *realHost) { r.damage(events.SectorUnsealed, flipped) }, true},
		"its data, cut short": {func(r *realHost) {
			r.damage(events.SectorUnsealed, func(b []byte) []byte { return b[:len(b)-32] })
		}, true},
		"the file of its data": {func(r *realHost) { _ = r.disk.Remove(ref(1), events.SectorUnsealed) }, true},
		"all of it":            {func(r *realHost) { _ = r.disk.RemoveSector(ref(1)) }, true},
		"the note of its seal": {func(r *realHost) { r.disk.DamageNote(ref(1), "seal") }, true},
		"its tree":             {func(r *realHost) { r.damage(events.SectorTree, flipped) }, false},
		"the file of its tree": {func(r *realHost) { _ = r.disk.Remove(ref(1), events.SectorTree) }, false},
		"data and tree": {func(r *realHost) {
			r.damage(events.SectorUnsealed, flipped)
			_ = r.disk.Remove(ref(1), events.SectorTree)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inReality(t, func(r *realHost) {
				n := r.create(r.piece("a", 500), r.piece("b", 1000))
				r.until("proving", r.in(n, sector.Proving))
				r.until("proven", func() bool { return r.world.effects["proven 1"] == 1 })
				commD, opened := r.info(n).CommD, r.opened
				c.harm(r)
				if c.fault {
					r.until("found", func() bool { return r.count(n, "SectorFaulty") == 1 })
					if why := r.info(n).LastErr; r.count(n, "SectorFaultReported") > 1 {
						t.Errorf("declared twice: %s", why)
					}
					r.until("recovered", func() bool { return r.count(n, "SectorRecovered") == 1 })
					if read := r.opened > opened; read == (name == "the note of its seal") {
						t.Errorf("pieces were read again: %t", read)
					}
				}
				before := r.world.effects["proven 1"]
				r.until("proven again", func() bool { return r.world.effects["proven 1"] >= before+1 })
				st := r.info(n)
				if st.CommD != commD || st.State != sector.Proving || st.Parked() || r.count(n, "SectorPacked") != 1 {
					t.Errorf("it is %s with CommD %s, which was %s", st.State, st.CommD, commD)
				}
				if !c.fault && (r.count(n, "SectorFaulty") > 0 || r.world.missed > 0) {
					t.Errorf("a fault was declared, or a window missed: %d", r.world.missed)
				}
				if usage, err := r.disk.Usage(ref(n)); err != nil || usage.Parts[events.SectorUnsealed] != size {
					t.Errorf("on disk are %+v, %v", usage, err)
				}
			})
		})
	}
}

// If the piece is gone as well, the fault stays, with its reason, and nothing is forgotten.
func TestASectorWhosePieceIsLostStaysFaultyAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(r *realHost, cid string)
		says error
	}{
		"gone":  {func(r *realHost, cid string) { delete(r.pieces, cid) }, events.ErrNoSuchPiece},
		"other": {func(r *realHost, cid string) { r.pieces[cid] = flipped(bytes.Clone(r.pieces[cid])) }, events.ErrPieceMismatch},
		"short": {func(r *realHost, cid string) { r.pieces[cid] = r.pieces[cid][:99] }, events.ErrPieceMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			inReality(t, func(r *realHost) {
				p := r.piece("a", 500)
				n := r.create(p)
				r.until("proving", r.in(n, sector.Proving))
				whole := bytes.Clone(r.pieces[p.CID])
				c.lose(r, p.CID)
				r.damage(events.SectorUnsealed, flipped)
				r.until("it cannot be mended", func() bool { return r.in(n, sector.FaultedFinal)() && r.info(n).LastErr != "" })
				if why := r.info(n).LastErr; !strings.Contains(why, c.says.Error()) {
					t.Errorf("it says %q", why)
				}
				r.pieces[p.CID] = whole
				r.do(sectors.Restart{Number: n, By: "anna"})
				r.until("recovered", func() bool { return r.count(n, "SectorRecovered") == 1 })
			})
		})
	}
}

// Damage between the precommit and the end of sealing is repaired in the step that finds it: the deposit is at stake,
// and no fault has to be declared.
func TestASectorThatIsDamagedBeforeItIsProvenIsRepaired(t *testing.T) {
	for name, harm := range map[string]func(r *realHost){
		"its data":  func(r *realHost) { r.damage(events.SectorUnsealed, flipped) },
		"all of it": func(r *realHost) { _ = r.disk.RemoveSector(ref(1)) },
	} {
		for _, call := range []string{"after PreCommit", "after Commit"} {
			t.Run(name+" "+call, func(t *testing.T) {
				inReality(t, func(r *realHost) {
					harmed := false
					r.world.point = func(name string) error {
						if name == call && !harmed {
							harmed = true
							harm(r)
						}
						return nil
					}
					n := r.create(r.piece("a", 500), r.piece("b", 300))
					r.until("proving", r.in(n, sector.Proving))
					r.until("proven", func() bool { return r.world.effects["proven 1"] > 0 })
					if st := r.info(n); st.Parked() || r.world.effects["PreCommit 1"] != 1 || r.world.effects["Commit 1"] != 1 {
						t.Errorf("sent %v; it stands so: %+v", r.world.effects, st)
					}
				})
			})
		}
	}
}
