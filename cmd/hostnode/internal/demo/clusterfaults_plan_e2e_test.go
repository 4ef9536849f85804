//go:build e2e

package demo

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// faultKind is a kind of fault. Begin does it to what a draw chose, and returns how it ends. It returns nil
// if it cannot be done, because that is under another fault already.
type faultKind struct {
	name    string
	longest time.Duration // with the usual beat
	begin   func(f *faultRig, d draw) (heal func() error, what string)
}

// draw is what was drawn for a fault: numbers that stand for a member, a link and a harm, whatever exists.
type draw struct {
	kind           faultKind
	at, lasts      time.Duration
	who, way, does int
}

// faultKinds are all of them. Most outages last longer than a lease, some stops longer than a period.
func faultKinds() []faultKind {
	return []faultKind{
		{"SIGKILL of the owner", 25 * time.Second, killOwner},
		{"two members think each other dead", 25 * time.Second, partOwner},
		{"SIGSTOP of a member", 38 * time.Second, stopMember},
		{"SIGKILL of the event store", 15 * time.Second, killStore},
		{"a link", 25 * time.Second, harmLink},
		{"a member alone with the chain", 25 * time.Second, partMember},
		{"SIGKILL of a member", 25 * time.Second, killMember},
		{"SIGKILL of etcd", 15 * time.Second, killEtcd},
		{"all at once", 3 * time.Second, killAll},
		{"the disk of a member is full", 20 * time.Second, fillDisk},
		{"SIGSTOP of the owner", 38 * time.Second, stopOwner},
		{"a link to the chain", 25 * time.Second, harmChainLink},
		{"two members do not reach each other", 25 * time.Second, partTwo},
		{"the owner loses the event store", 40 * time.Second, partOwnerFromStore},
	}
}

// drawFaults draws what happens in the first periods. The first fault goes through all kinds as the seed
// counts up. All lasts the longer the longer a beat is.
func drawFaults(seed uint64, beat time.Duration) []draw {
	r := rand.New(rand.NewPCG(seed, 16))
	kinds := faultKinds()
	within := int64(faultyPeriods*faultPeriod.Seconds()) * int64(beat)
	all := make([]draw, 4+r.IntN(3))
	for i := range all {
		kind := kinds[r.IntN(len(kinds))]
		if i == 0 {
			kind = kinds[seed%uint64(len(kinds))]
		}
		lasts := time.Second + time.Duration(r.Int64N(int64(kind.longest)))
		all[i] = draw{
			kind: kind, at: time.Duration(r.Int64N(within)),
			lasts: time.Duration(float64(lasts) * float64(beat) / float64(faultBeat)),
			who:   r.IntN(1 << 16), way: r.IntN(1 << 16), does: r.IntN(1 << 16),
		}
	}
	slices.SortFunc(all, func(a, b draw) int { return cmp.Compare(a.at, b.at) })
	return all
}

// take claims what a fault needs; false: another fault has some of it.
func (f *faultRig) take(why string, what ...string) bool {
	for _, w := range what {
		if f.claimed[w] != "" {
			return false
		}
	}
	for _, w := range what {
		f.claimed[w] = why
	}
	return true
}

func (f *faultRig) give(what ...string) {
	for _, w := range what {
		delete(f.claimed, w)
	}
}

func (f *faultRig) member(d draw) *faulted { return f.members[d.who%len(f.members)] }

// Processes that are killed.

func killMember(f *faultRig, d draw) (func() error, string) { return f.killed(f.member(d)) }

func killOwner(f *faultRig, _ draw) (func() error, string) { return f.killed(f.owner()) }

func (f *faultRig) killed(m *faulted) (func() error, string) {
	if m == nil || !f.take("killed", f.processOf(m)) {
		return nil, ""
	}
	f.must(m.killIt())
	return func() error {
		defer f.give(f.processOf(m))
		return m.startIt()
	}, string(m.name)
}

func killStore(f *faultRig, _ draw) (func() error, string) {
	return f.killedServer(f.record, "event store")
}
func killEtcd(f *faultRig, _ draw) (func() error, string) { return f.killedServer(f.etcd, "etcd") }

func (f *faultRig) killedServer(h *host, name string) (func() error, string) {
	if !f.take("killed", name) {
		return nil, ""
	}
	f.must(h.kill())
	return func() error {
		defer f.give(name)
		return h.start()
	}, name
}

// killAll kills everything but the chain. What is under another fault already stays so.
func killAll(f *faultRig, d draw) (func() error, string) {
	var heals []func() error
	for _, m := range f.members {
		if heal, _ := f.killed(m); heal != nil {
			heals = append(heals, heal)
		}
	}
	for _, server := range []func(*faultRig, draw) (func() error, string){killStore, killEtcd} {
		if heal, _ := server(f, d); heal != nil {
			heals = append(heals, heal)
		}
	}
	return inTurn(heals), "all"
}

func inTurn(heals []func() error) func() error {
	if len(heals) == 0 {
		return nil
	}
	return func() error {
		for _, heal := range heals {
			if err := heal(); err != nil {
				return err
			}
		}
		return nil
	}
}

// Processes that are stopped, and go on later as if nothing had been.

func stopMember(f *faultRig, d draw) (func() error, string) { return f.stopped(f.member(d)) }
func stopOwner(f *faultRig, _ draw) (func() error, string)  { return f.stopped(f.owner()) }

func (f *faultRig) stopped(m *faulted) (func() error, string) {
	const why = "it was stopped"
	if m == nil || !f.take(why, f.processOf(m)) {
		return nil, ""
	}
	m.watch.hinder(why, true, false)
	pid := m.pid()
	f.must(syscall.Kill(pid, syscall.SIGSTOP))
	return func() error {
		defer f.give(f.processOf(m))
		defer m.watch.hinder(why, false, false)
		return syscall.Kill(pid, syscall.SIGCONT)
	}, string(m.name)
}

// fillDisk lets no file of a member grow: each write fails. An operator who has made room starts it again.
func fillDisk(f *faultRig, d draw) (func() error, string) {
	const why = "its disk was full"
	m := f.member(d)
	if !f.take(why, f.processOf(m)) {
		return nil, ""
	}
	m.watch.hinder(why, true, false)
	var had unix.Rlimit
	f.must(unix.Prlimit(m.pid(), unix.RLIMIT_FSIZE, nil, &had))
	f.must(unix.Prlimit(m.pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Max: had.Max}, nil))
	return func() error {
		defer f.give(f.processOf(m))
		defer m.watch.hinder(why, false, false)
		f.must(m.killIt())
		return m.startIt()
	}, string(m.name)
}

// Links.

// ways are the links on which a member reaches servers and other members.
func (f *faultRig) ways(m *faulted) []*link {
	all := []*link{m.store, m.etcd, m.chain}
	for _, other := range f.members {
		if other != m {
			all = append(all, other.others.from[m.name])
		}
	}
	return all
}

func harmLink(f *faultRig, d draw) (func() error, string) {
	m := f.member(d)
	ways := f.ways(m)
	return f.harmed(m, ways[d.way%len(ways)], harm(d.does%int(harms)))
}

// partTwo harms the ways between two members. Both reach all others.
func partTwo(f *faultRig, d draw) (func() error, string) {
	m, other := f.member(d), f.members[(d.who+1+d.way%(len(f.members)-1))%len(f.members)]
	return f.harmedAll(m, between(m, other), harm(d.does%int(harms)))
}

// between are the links between two members.
func between(m, other *faulted) []*link {
	return []*link{other.others.from[m.name], m.others.from[other.name]}
}

func harmChainLink(f *faultRig, d draw) (func() error, string) {
	m := f.member(d)
	return f.harmed(m, m.chain, harm(d.does%int(harms)))
}

func (f *faultRig) harmed(m *faulted, l *link, h harm) (func() error, string) {
	const why = "it did not reach the chain"
	if !f.take(h.String(), l.name) {
		return nil, ""
	}
	if l == m.chain {
		m.watch.hinder(why, true, false)
	}
	f.must(l.do(h))
	return func() error {
		defer f.give(l.name)
		if l == m.chain {
			defer m.watch.hinder(why, false, false)
		}
		return l.heal()
	}, l.name + " is " + h.String()
}

// partOwner cuts the owner off from the others and from etcd, so that another one takes the term; half of
// the time also from the event store, so that the old owner does not hear of that. All have the key.
func partOwner(f *faultRig, d draw) (func() error, string) {
	m := f.owner()
	if m == nil {
		return nil, ""
	}
	return f.parted(m, d.does%2 == 0, d.way%2 == 0)
}

// partOwnerFromStore takes nothing but the event store from the owner.
func partOwnerFromStore(f *faultRig, d draw) (func() error, string) {
	m := f.owner()
	if m == nil {
		return nil, ""
	}
	return f.harmed(m, m.store, []harm{cut, muted}[d.does%2])
}

// partMember leaves a member nothing but the chain and its key.
func partMember(f *faultRig, d draw) (func() error, string) {
	return f.parted(f.member(d), true, d.way%2 == 0)
}

func (f *faultRig) parted(m *faulted, record, silently bool) (func() error, string) {
	does := cut
	if silently {
		does = muted
	}
	cuts := []*link{m.etcd}
	if record {
		cuts = append(cuts, m.store)
	}
	for _, other := range f.members {
		if other != m {
			cuts = append(cuts, between(m, other)...)
		}
	}
	return f.harmedAll(m, cuts, does)
}

// harmedAll harms several links of a member in the same way.
func (f *faultRig) harmedAll(m *faulted, links []*link, h harm) (func() error, string) {
	var heals []func() error
	var what []string
	for _, l := range links {
		if heal, w := f.harmed(m, l, h); heal != nil {
			heals, what = append(heals, heal), append(what, w)
		}
	}
	return inTurn(heals), strings.Join(what, "; ")
}
