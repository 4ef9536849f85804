package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// Nodes has host nodes watched, and judged by what they did.
type Nodes struct {
	// Watch makes this host watch nodes: its members, those that are probed, and, with market, all hosts of the
	// marketplace. It judges them by the rules below and hands no slot to a member that is suspended.
	Watch bool `key:"watch" def:"false"`
	// Market says that the proofs of all slots of the marketplace count, ours and those of others; and, where this host
	// seals sectors, those of all sectors.
	Market bool `key:"market" def:"true"`
	// PauseSelling pauses selling while the host's own address is suspended or disqualified.
	PauseSelling bool `key:"pauseSelling" def:"false"`
	// Every is the chain time between two rounds of probes, and of looks at the members' leases.
	Every time.Duration `key:"every" def:"10m" min:"1s" max:"24h"`
	// Gap is the longest chain time between two rounds; after a longer one, what lies between is void for all. 0: twice
	// and a half as long as every.
	Gap time.Duration `key:"gap" def:"0s" max:"24h"`
	// Probe are the nodes that are asked whether they are there.
	Probe NodeProbes `key:"probe"`
	// Notes are what to know of nodes, each NODE=TEXT, such as whom to call. They are shown with the node.
	Notes []string `key:"notes" max:"10000"`
	// Webhooks are told what becomes of a node, each NODE=URL: warnings and verdicts as JSON, signed with the account's
	// key.
	Webhooks []string `key:"webhooks" max:"10000" secret:"webhook"`
	// Rules are those by which nodes are judged.
	Rules NodeRules `key:"rules"`
}

// NodeProbes are the nodes that are asked whether they are there.
type NodeProbes struct {
	// URLs are asked, each NODE=URL: the node is an address or the name of a member. Nothing else is ever asked.
	URLs []string `key:"urls" max:"10000" secret:"url"`
	// Timeout is how long a node may take to answer.
	Timeout time.Duration `key:"timeout" def:"5s" min:"100ms" max:"1m"`
	// Parallel is how many are asked at once.
	Parallel int `key:"parallel" def:"16" min:"1" max:"1000"`
	// Jitter is over how long the questions of a round are spread, by the machine's clock.
	Jitter time.Duration `key:"jitter" def:"0s" max:"10m"`
	// Private lets addresses of private networks be asked, and of this machine.
	Private bool `key:"private" def:"false"`
	// Listen is the address at which this host answers probes of others, such as 0.0.0.0:7950. Empty: it does not.
	Listen string `key:"listen"`
	// PerSecond is how many it answers in a second.
	PerSecond int `key:"perSecond" def:"5" min:"1" max:"1000"`
}

// NodeRules are the rules by which nodes are judged. 0 means: as the set has it. In document, windows of 30m count for
// 24h, 20 % of them may be offline, and a suspended node has 12h and then 24h to be back; in scored, windows of 12h
// count for 720h, their mean is at least 60 %, and it has 168h and then 720h.
type NodeRules struct {
	// Set is document, where a node is offending when too many windows have nothing but offline audits, or scored,
	// where it is when the mean of its windows is too low.
	Set string `key:"set" def:"document" oneOf:"document scored"`
	// Window is the length of a window.
	Window time.Duration `key:"window" def:"0s" max:"8760h"`
	// Tracking is how far back windows count: a multiple of window.
	Tracking time.Duration `key:"tracking" def:"0s" max:"87600h"`
	// Grace is how long a suspended node has to be back, besides another tracking.
	Grace time.Duration `key:"grace" def:"0s" max:"87600h"`
	// AllowedOffline is how many hundredths of a percent of the windows may be offline (document).
	AllowedOffline uint64 `key:"allowedOffline" def:"0" max:"10000"`
	// RequiredOnline is the lowest mean, in hundredths of a percent (scored).
	RequiredOnline uint64 `key:"requiredOnline" def:"0" max:"10000"`
	// MinimumWindows is with how few windows nobody is offending.
	MinimumWindows uint64 `key:"minimumWindows" def:"0" max:"100000"`
	// SingleReview lets the clock of a suspended node run on when it is reinstated, so that one that comes and goes
	// does not get a new one each time. scored always has it.
	SingleReview bool `key:"singleReview" def:"false"`
	// ElapsedGaps says that a tracking time is full when it has passed since the first audit, whether or not each
	// window has one (scored).
	ElapsedGaps bool `key:"elapsedGaps" def:"false"`
	// Evidence says that without windows a node keeps its status, and that none is reinstated which was not online
	// since its suspension. scored always has it.
	Evidence bool `key:"evidence" def:"false"`
	// Disqualification is what follows when a suspended node was not back in time: on, proposed (a person decides) or
	// off. usual is as the set has it: on in document, off in scored.
	Disqualification string `key:"disqualification" def:"usual" oneOf:"usual on proposed off"`
	// Suspension false suspends nobody, and reinstates who is suspended.
	Suspension bool `key:"suspension" def:"true"`
	// GuardPercent: a window in which more of the nodes were offline is void for all, because the fault is here. 0:
	// none is.
	GuardPercent uint64 `key:"guardPercent" def:"50" max:"100"`
	// GuardNodes is how many nodes must have been audited for that.
	GuardNodes uint64 `key:"guardNodes" def:"5" max:"1000000"`
	// Retention is how long windows are kept, at least for tracking.
	Retention time.Duration `key:"retention" def:"0s" max:"87600h"`
	// WarnWindows: who would be suspended after so many windows offline in a row is warned.
	WarnWindows uint64 `key:"warnWindows" def:"7" max:"100000"`
}

// Service are the rules as the core has them.
func (r NodeRules) Service() downtime.Service {
	s := downtime.DocumentRules()
	if r.Set == string(downtime.Scored) {
		s = downtime.ScoredRules()
	}
	s.WindowLength = cmp.Or(r.Window, s.WindowLength)
	s.TrackingPeriod = cmp.Or(r.Tracking, s.TrackingPeriod)
	s.GracePeriod = cmp.Or(r.Grace, s.GracePeriod)
	s.AllowedOfflinePercentage = cmp.Or(downtime.Percentage(r.AllowedOffline), s.AllowedOfflinePercentage)
	s.RequiredOnlinePercentage = cmp.Or(downtime.Percentage(r.RequiredOnline), s.RequiredOnlinePercentage)
	s.MinimumWindows = cmp.Or(uint32(r.MinimumWindows), s.MinimumWindows)
	s.SingleReview, s.Evidence = s.SingleReview || r.SingleReview, s.Evidence || r.Evidence
	s.ElapsedGaps, s.SuspensionOff = r.ElapsedGaps, !r.Suspension
	if r.Disqualification != "usual" {
		s.Disqualification = downtime.Disqualification(r.Disqualification)
	}
	s.GuardPercent, s.GuardNodes = uint32(r.GuardPercent), uint32(r.GuardNodes)
	s.Retention, s.WarnWindows = r.Retention, uint32(r.WarnWindows)
	return s
}

// OfNodes reads settings of the form NODE=VALUE.
func OfNodes(list []string) (map[events.Node]string, error) {
	all := map[events.Node]string{}
	for _, item := range list {
		name, value, ok := strings.Cut(item, "=")
		node, err := events.ParseNode(name)
		if !ok || err != nil || value == "" {
			return nil, fmt.Errorf("not NODE=VALUE, of which NODE is an address or the name of a member")
		}
		if all[node] != "" {
			return nil, fmt.Errorf("node %s is there twice", node)
		}
		all[node] = value
	}
	return all, nil
}

func (c Config) checkNodes() error {
	n := c.Nodes
	for key, list := range map[string][]string{
		"nodes.probe.urls": n.Probe.URLs, "nodes.webhooks": n.Webhooks, "nodes.notes": n.Notes,
	} {
		all, err := OfNodes(list)
		if err != nil {
			return refuse(key, strings.Join(list, ","), err.Error())
		}
		for node, value := range all {
			if key == "nodes.notes" {
				continue
			}
			if !overHTTP(value) {
				return refuse(key, string(node)+"="+value,
					"not a URL; write for example north=https://node.example/v1/probe")
			}
		}
	}
	if err := n.Rules.Service().Check(); err != nil {
		return refuse("nodes.rules.set", n.Rules.Set, err.Error())
	}
	if n.Probe.Listen != "" {
		if _, _, err := splitAddress(n.Probe.Listen); err != nil {
			return refuse("nodes.probe.listen", n.Probe.Listen, "write host:port, for example 0.0.0.0:7950")
		}
	}
	return nil
}

// LongestGap is the longest chain time between two rounds that is no pause.
func (n Nodes) LongestGap() time.Duration { return cmp.Or(n.Gap, n.Every*5/2) }
