package codexapi

import (
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

// noPeers says that there is no peer-to-peer network, with the status that Codex has for a node that is not on it.
func noPeers(status int) func(http.ResponseWriter, *http.Request) error {
	return func(http.ResponseWriter, *http.Request) error {
		return refuse(status, "This host is not on a peer-to-peer network, so it has no peer id and no record, and "+
			"dials no peers; it fetches content over HTTP from the servers in content.sources")
	}
}

type space struct {
	TotalBlocks count `json:"totalBlocks"`
	Quota       count `json:"quotaMaxBytes"`
	Used        count `json:"quotaUsedBytes"`
	Reserved    count `json:"quotaReservedBytes"`
}

// space is how the host's quota is used. What availabilities have on offer is reserved, as in Codex.
func (a *API) space(w http.ResponseWriter, r *http.Request) error {
	l, err := api.ShowLedger.Ask(r.Context(), a.cfg.Host, api.Then{})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, space{
		TotalBlocks: count{n: uint64(l.Stored / events.BlockSize)},
		Quota:       count{n: uint64(l.Quota)},
		Used:        count{n: uint64(l.Stored + l.Overhead + l.Sectors + l.Pieces)},
		Reserved:    count{n: uint64(l.Reserved + l.Free)},
	})
}

// info has nothing of peers, because there are none.
func (a *API) info(w http.ResponseWriter, r *http.Request) error {
	host, err := api.ShowStatus.Ask(r.Context(), a.cfg.Host, api.Then{})
	if err != nil {
		return err
	}
	release, revision, _ := strings.Cut(host.Version, " ")
	nobody := map[string]any{"nodeId": "", "peerId": "", "record": "", "address": "", "seen": false}
	return answer(w, http.StatusOK, map[string]any{
		"id": "", "addrs": []string{}, "spr": "", "announceAddresses": []string{}, "repo": host.DataDir,
		"table": map[string]any{"localNode": nobody, "nodes": []string{}},
		"codex": map[string]string{"version": release, "revision": revision, "contracts": host.Chain.Contract},
	})
}

// levels are Codex's, as levels of the host's log.
var levels = map[string]logrus.Level{
	"TRACE": logrus.TraceLevel, "DEBUG": logrus.DebugLevel, "INFO": logrus.InfoLevel, "NOTICE": logrus.InfoLevel,
	"WARN": logrus.WarnLevel, "ERROR": logrus.ErrorLevel, "FATAL": logrus.FatalLevel,
}

// setLevel sets the level of the log until the host is started again.
func (a *API) setLevel(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("level")
	level, known := levels[strings.ToUpper(name)]
	if !known {
		return refuse(http.StatusBadRequest, "level is %.40q, want TRACE, DEBUG, INFO, NOTICE, WARN, ERROR or FATAL",
			name)
	}
	a.cfg.Log.Logger.SetLevel(level)
	text(w, http.StatusOK, "")
	return nil
}
