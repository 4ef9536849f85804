package sim

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// noteChances is called when the hosts have done all that the newest block gave them to do:
// proofs that they have not sent by now will not be in the next block.
func (m *month) noteChances() {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	for _, h := range m.members {
		if h.host != nil {
			m.chances.note(m.chain, h.me, 0)
		}
	}
}

// judgeLosses returns the losses of proofs that a host had the chance to send, and those that
// nothing that went wrong explains.
func (m *month) judgeLosses() (wrong []error) {
	for p, l := range m.chances.lost {
		at := slices.IndexFunc(m.members, func(h *member) bool { return h.me == l.host })
		err := m.chances.judge(p, l)
		if err == nil {
			err = m.members[at].wasDown(p)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// judgeRecorded returns an error for a recorded miss that nobody marked, although a validator
// marks every miss that can be marked.
func (m *month) judgeRecorded(h *member, p period) error {
	if l, lost := m.chances.lost[p]; lost && l.host == h.me {
		return nil // The loss is judged.
	}
	return fmt.Errorf("host %s recorded a miss of slot %s for period %d, which nobody marked", h.me, p.slot.Short(), p.number)
}

// wasDown is nil when the host was down in a period.
func (h *member) wasDown(p period) error {
	cfg := h.tip().state.cfg.Proofs
	for _, d := range h.down {
		if d[0].Before(duty.End(cfg, p.number)) && d[1].After(duty.Start(cfg, p.number)) {
			return nil
		}
	}
	return fmt.Errorf("host %s was up and missed the proof of slot %s for period %d", h.me, p.slot.Short(), p.number)
}

// Hosts that leave out a proof now and then are detected, even if they crash.
func TestAMonthFindsHostsThatMissWhatTheyCouldProve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMonth(t, *first, 4, actors.Cores{NextSale: func(s sale.State) []sale.Effect {
			return slices.DeleteFunc(sale.Next(s), func(e sale.Effect) bool {
				proof, ok := e.(sale.SubmitProof)
				return ok && proof.Duty.Period%4 == 0
			})
		}})
		m.run(6 * time.Hour)
		wrong := m.judgeLosses()
		if len(wrong) == 0 || !slices.Contains(brokenBy(wrong[0]), NothingMissed) {
			t.Errorf("%d losses are wrong, of %d: %v", len(wrong), len(m.chances.lost), wrong)
		}
		for p, l := range m.chances.lost {
			if err := m.chances.judge(p, l); err != nil && p.number%4 != 0 {
				t.Error(err)
			}
		}
		for _, h := range m.members {
			h.stop(m.now())
		}
		time.Sleep(time.Minute) // Fake time: the actor library's last timers run out.
	})
}
