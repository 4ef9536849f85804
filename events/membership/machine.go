package membership

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/messages"
)

// Machine is what the record knows of hosts.
func Machine() machine.Machine {
	return machine.Of(events.OnePerHost(events.CategoryHost), Table, machine.Zero[Host], Host.evolve, nil)
}

// Host is everything that a host's stream says. The zero Host is that of an empty stream.
type Host struct {
	State
	// ChainID, Genesis and Contract are the market of the newest start.
	ChainID           uint64
	Genesis, Contract string
	// Quarantined is the work that is left alone, the newest last.
	Quarantined []Quarantined
}

// Quarantined is a piece of work that is left alone. Since is by the machine's clock.
type Quarantined struct {
	Kind, Key, Reason string
	Since             time.Time
}

func (h Host) evolve(e Event) Host {
	h.State = Evolve(h.State, e)
	switch e := e.(type) {
	case *messages.HostStarted:
		h.ChainID, h.Genesis, h.Contract = e.GetChainId(), e.GetGenesis(), e.GetContract()
	case *messages.WorkQuarantined:
		h = h.tried(e.GetKind(), e.GetKey())
		h.Quarantined = append(h.Quarantined,
			Quarantined{e.GetKind(), e.GetKey(), e.GetReason(), events.TimeFromMessage(e.GetAt())})
	case *messages.QuarantineEnded:
		h = h.tried(e.GetKind(), e.GetKey())
	case *messages.HostStopped, *messages.HostHeartbeat, *messages.TermTaken, *messages.TermEnded,
		*messages.RecordWentBack, *messages.SettingsChanged:
	}
	return h
}

// tried is the host without a piece of work among what is left alone.
func (h Host) tried(kind, key string) Host {
	h.Quarantined = slices.DeleteFunc(slices.Clone(h.Quarantined), func(q Quarantined) bool {
		return q.Kind == kind && q.Key == key
	})
	return h
}
