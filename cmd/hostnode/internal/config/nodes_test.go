package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events/downtime"
)

func TestTheRulesOfNodesAreThoseOfTheirSetUnlessTheyAreSet(t *testing.T) {
	c := Default()
	if got := c.Nodes.Rules.Service(); got != downtime.DocumentRules() {
		t.Errorf("%+v", got)
	}
	c.Nodes.Rules.Set = "scored"
	if got := c.Nodes.Rules.Service(); got != downtime.ScoredRules() {
		t.Errorf("%+v", got)
	}
}

func TestSettingsOfNodesThatCannotBe(t *testing.T) {
	for words, change := range map[string]func(n *Nodes){
		"no multiple of a window":         func(n *Nodes) { n.Rules.Window = 7 * time.Minute },
		"not NODE=VALUE":                  func(n *Nodes) { n.Notes = []string{"call anna"} },
		"is there twice":                  func(n *Nodes) { n.Probe.URLs = []string{"a=http://x/1", "a=http://x/2"} },
		"not a URL":                       func(n *Nodes) { n.Webhooks = []string{"a=ftp://x"} },
		"host:port":                       func(n *Nodes) { n.Probe.Listen = "here" },
		"nodes.probe.urls = \"not-a-node": func(n *Nodes) { n.Probe.URLs = []string{"not-a-node!=http://x"} },
	} {
		c := Default()
		change(&c.Nodes)
		if err := c.checkNodes(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: error %v", words, err)
		}
	}
}
