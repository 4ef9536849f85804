package demo

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// part is what a process has to do in the demonstration of downtime.
type part struct {
	name events.Member
	// moves are the hours of chain time at which it is killed, and started again, in turn.
	moves []int
	// judged is what is decided about it: the names of the events.
	judged []string
}

// The places in parts of the one that is shown at the end, and of the watcher.
const absent, watcher = 1, 3

// parts are those of three hosts and of the watcher. What becomes of absent is an example of the rules' document: six
// hours away, suspended after five, reinstated the next morning. It is away again while nobody watches.
var parts = []part{
	{"steady", nil, nil},
	absent: {"absent", []int{30, 36, 103, 113}, []string{"NodeSuspended", "NodeReinstated"}},
	{"fickle", []int{24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68}, []string{"NodeSuspended", "NodeDisqualified"}},
	watcher: {"watcher", []int{102, 114}, nil},
}

const (
	// watchedTime is how long it all takes in chain time, and blocksApart how much of that a block takes.
	watchedTime, blocksApart = 5 * 24 * time.Hour, 5 * time.Minute
	// longPeriod and longTimeout are the market's: each host owes four proofs a day at most. The request lasts for
	// watchedPeriods and some more, which is longer than watchedTime.
	longPeriod, longTimeout, watchedPeriods = 6 * time.Hour, 30 * time.Minute, 13
	// probesPerSecond is more than the watcher asks in a second of the machine's time.
	probesPerSecond = 1000
	// followEvery is how often it is looked whether everybody has followed the chain.
	followEvery = 4 * time.Millisecond
)

// fixedForDowntime are further settings that the demonstration of downtime chooses itself, and why.
var fixedForDowntime = map[string]string{
	"nodes":            "it shows the usual rules, on hosts of its own",
	"devchain.period":  "there is time for so many proofs only",
	"devchain.timeout": "there is time for so many proofs only",
}

// downtimeDemo is a demonstration of downtime in progress.
type downtimeDemo struct {
	*saleDemo
	rules core.Service
	day   time.Time // when the first one began, by the chain
	now   time.Time // of the block that is due, or was the last
	nodes []string  // the addresses of the hosts
	names *strings.Replacer
}

// DowntimeSummary is the result of a demonstration of downtime.
type DowntimeSummary struct {
	Totals
	// Judged are the decisions about each host: the names of the events.
	Judged map[string][]string `json:"judged"`
	// Proofs is how many the contract took, by the hosts' logs.
	Proofs int `json:"proofs"`
}

// RunDowntime runs the demonstration of downtime and returns its result. The error is nil only when what was to be
// decided was, nothing else was, and the audit is clean.
func RunDowntime(ctx context.Context, o Options) (sum DowntimeSummary, err error) {
	if err := cmp.Or(o.refuseSettings(fixed, fixedForDowntime), o.beginsChain()); err != nil {
		return sum, err
	}
	o.Slots, o.Periods = watcher, watchedPeriods
	o.Config.Devchain.Period, o.Config.Devchain.Timeout = longPeriod, longTimeout
	if err := o.begin(madeBytes, o.fits); err != nil {
		return sum, err
	}
	s := &downtimeDemo{saleDemo: newSale(o), rules: core.DocumentRules()}
	s.receive = s.showLine
	return run(ctx, s.engine, s.summarize, s.prepare, s.start, s.offer, s.post, s.watch, s.live, s.look, s.stop)
}

// start starts the hosts at midnight.
func (s *downtimeDemo) start(ctx context.Context) error {
	s.display.say("Three hosts: steady stays, absent will be gone for six hours, fickle comes and goes. Each has an " +
		"account and a slot to prove, and answers who asks whether it is there. The account above is the watcher's")
	var names []string
	for _, h := range parts[:watcher] {
		o := Options{Config: config.Default(), Slots: 1}
		c := o.hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.client.url)
		c.DataDir, c.Prover = filepath.Join(s.dir.Root, string(h.name)), s.Config.Prover
		c.Account.KeyFile = datadir.At(c.DataDir).KeyFile()
		account, err := keys.Create(c.Account.KeyFile, "")
		if err != nil {
			return err
		}
		if err := node.ProvideDevelopmentFunds(ctx, s.local, account); err != nil {
			return err
		}
		if c.Nodes.Probe.Listen, err = freeAddress(); err != nil {
			return err
		}
		c.Nodes.Probe.PerSecond = probesPerSecond
		if err := s.addHost(h.name, c); err != nil {
			return err
		}
		s.nodes, names = append(s.nodes, account.String()), append(names, account.String(), string(h.name))
		s.Config.Nodes.Probe.URLs = append(s.Config.Nodes.Probe.URLs,
			fmt.Sprintf("%s=http://%s/v1/probe", account, c.Nodes.Probe.Listen))
	}
	s.names = strings.NewReplacer(names...)
	head := s.local.Head().Time.UTC()
	s.day = head.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if _, err := s.local.SealApart(ctx, 1, s.day.Sub(head)); err != nil {
		return err
	}
	return s.engine.start(ctx, s.pace())
}

// watch starts the watcher when each host has a slot. From then on each block is sealed by live.
func (s *downtimeDemo) watch(ctx context.Context) error {
	err := s.until(ctx, "all slots are filled", func(context.Context) (bool, error) {
		return !slices.ContainsFunc(s.slots, func(slot slotLog) bool { return !slot.filled }), nil
	})
	if err != nil {
		return err
	}
	s.local.Pause(true)
	s.now, s.tick = s.local.Head().Time, followEvery
	s.Config.Nodes.Watch, s.Config.Nodes.Probe.Private = true, true // The hosts are on this machine.
	c := s.hostConfig(s.local.IPCPath(), s.local.Marketplace.String())
	if err := s.addHost(parts[watcher].name, c); err != nil {
		return err
	}
	s.display.say("Watcher: asks each host every %s whether it is there, and reads on the chain who proved. Who was "+
		"offline in more than %s of the windows of %s of the last %s is suspended, and reinstated when that is over. "+
		"Who is offline as much %s after the suspension is disqualified", inWords(c.Nodes.Every),
		s.rules.AllowedOfflinePercentage, inWords(s.rules.WindowLength), inWords(s.rules.TrackingPeriod),
		inWords(s.rules.GracePeriod+s.rules.TrackingPeriod))
	s.display.say("Chain: from now on a block is %s, and waits for the hosts. Day 1 is %s. On day 5 nobody watches "+
		"for half a day, in which absent is gone for ten hours", inWords(blocksApart), s.day.Format(time.DateOnly))
	return s.comeBack(ctx, s.hosts[watcher])
}

func inWords(d time.Duration) string { return cli.Span(uint64(d / time.Second)) }

// comeBack starts a process, and returns when it has followed the chain.
func (s *downtimeDemo) comeBack(ctx context.Context, h *host) error {
	if err := s.startHost(h); err != nil {
		return err
	}
	return s.follow(ctx)
}

// follow returns when all have seen the newest block and have no work, and the watcher has recorded the windows that
// are over. Of the first one of the day it saw only a part.
func (s *downtimeDemo) follow(ctx context.Context) error {
	began, what, by := time.Now(), "all have followed the chain", s.hosts[watcher]
	return s.until(ctx, what, func(ctx context.Context) (bool, error) {
		if time.Since(began) > longestHold {
			return false, fmt.Errorf("%w: for %s it waited until %s", problem.ErrDemoStuck, longestHold, what)
		}
		head := s.local.Head()
		if p, err := s.progress(ctx); err != nil || p.Working || p.Head < head.Number {
			return false, nil //nolint:nilerr // One is starting.
		}
		over := s.rules.StartOf(head.Time)
		if by.down.Load() || over.Sub(s.day) <= s.rules.WindowLength {
			return true, nil
		}
		all, err := within(ctx, by.operator, downtime.ListNodes, api.Then{})
		return len(all.Nodes) > 0 && !all.Nodes[0].AsOf.Before(over), err
	})
}

// live lets the days pass, block by block.
func (s *downtimeDemo) live(ctx context.Context) error {
	for at := s.now.Sub(s.day).Truncate(blocksApart) + blocksApart; at <= watchedTime; at += blocksApart {
		s.now = s.day.Add(at)
		for i, h := range s.hosts {
			due := at
			if i == watcher { // Just after a window has ended.
				due -= blocksApart
			}
			if err := s.move(ctx, h, parts[i].moves, due); err != nil {
				return err
			}
		}
		if _, err := s.local.SealApart(ctx, 1, s.now.Sub(s.local.Head().Time)); err != nil {
			return err
		}
		if err := s.follow(ctx); err != nil {
			return err
		}
	}
	return nil
}

// move kills a process or starts it again, if that is due.
func (s *downtimeDemo) move(ctx context.Context, h *host, moves []int, due time.Duration) error {
	switch i := slices.Index(moves, int(due/time.Hour)); {
	case i < 0 || due%time.Hour > 0:
		return nil
	case i%2 > 0:
		s.say("%s is started again", h.name)
		return s.comeBack(ctx, h)
	default:
		h.down.Store(true)
		s.say("%s is killed, and gone for %d h", h.name, moves[i+1]-moves[i])
		return s.kill(ctx, h)
	}
}

// say says something, with the time of the chain. A log says a bit later what was decided at the end of a window.
func (s *downtimeDemo) say(format string, args ...any) {
	now := s.rules.StartOf(s.now)
	s.display.say("day %d %s  %s", 1+now.Sub(s.day)/(24*time.Hour), now.Format("15:04"), fmt.Sprintf(format, args...))
}

// showLine shows what is said about slots until each host has one, and then what somebody should know.
func (s *downtimeDemo) showLine(ctx context.Context, l line) error {
	if s.now.IsZero() {
		return s.saleDemo.showLine(ctx, l)
	}
	if l.Index != nil && tookProof.MatchString(l.Msg) {
		s.slots[*l.Index].proofs++
	}
	if l.Level == "error" || l.Level == "warning" {
		s.say("%s says: %s", l.from.name, s.names.Replace(strings.TrimSuffix(l.Msg+"; "+l.Hint, "; ")))
	}
	return nil
}

// look asks the watcher with the commands of an operator.
func (s *downtimeDemo) look(ctx context.Context) error {
	s.print("\n== Who is who ==")
	for i, node := range s.nodes {
		s.print("%s\t%s", node, parts[i].name)
	}
	return s.askAll(ctx, []string{"nodes", "list"}, []string{"nodes", "show", s.nodes[absent]})
}

// summarize reads the events and prints the summary.
func (s *downtimeDemo) summarize(_ context.Context, of record) (sum DowntimeSummary, err error) {
	sum = DowntimeSummary{of.totals, map[string][]string{}, s.proofsOf(func(*host) bool { return true })}
	all, _ := of.views.Of(events.CategoryNode)
	rows, _ := all[s.account.String()].([]view.Node)
	for _, row := range rows {
		of, judged := parts[slices.Index(s.nodes, row.Node)], []string{}
		for _, v := range row.Verdicts {
			judged = append(judged, v.What)
		}
		sum.Judged[string(of.name)] = judged
		if slept := row.Document.Void > 0; !slices.Equal(judged, of.judged) || slept != (row.Status == "active") {
			err = fmt.Errorf("%w: %s was judged otherwise than it should be", problem.ErrDemoIncomplete, of.name)
		}
	}
	s.printAudit(of.report)
	s.printWhere("the logs: watcher.log and so on", "hostnode nodes history "+s.nodes[absent],
		"hostnode nodes rules try --allowed-offline 3000")
	s.print("\n%s watched in %.0f s; %d proofs.", inWords(watchedTime), sum.Seconds, sum.Proofs)
	return sum, err
}
