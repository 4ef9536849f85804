//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// watching is a host with its chain, each a process of its own, and a Prometheus that watches it by our rules.
type watching struct {
	*testing.T
	dir, metrics, prometheus string
	account, source          string
	env                      []string
	chain, host              *exec.Cmd
	run                      []string
}

// rulesHere make our rules as quick as this market, in which a period takes ten seconds, so that nobody waits for hours.
var rulesHere = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?m)^(\s+for:) .*$`):             "$1 2s",
	regexp.MustCompile(`(?m)^(\s+keep_firing_for:) .*$`): "$1 1m", // longer than a restart, also here
	regexp.MustCompile(`\[1h\]`):                         "[90s]",
}

// outage is how long the host is down: until it has missed a proof.
const outage = 25 * time.Second

// TestPrometheusTellsByOurRules needs prometheus (Debian's package): make watch-rules.
func TestPrometheusTellsByOurRules(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("needs prometheus; on Debian: apt-get install prometheus; run: make watch-rules")
	}
	w := &watching{T: t, dir: t.TempDir(), metrics: unused(t), prometheus: unused(t), source: unused(t)}
	c := smallConfig(t, filepath.Join(w.dir, "data"))
	c.Devchain.BlockInterval = 500 * time.Millisecond
	w.env = append(os.Environ(), c.Environ()...)
	w.account = regexp.MustCompile("0x[0-9a-fA-F]{40}").FindString(w.hostnode("key", "new"))
	w.startChain()
	if err := os.WriteFile(filepath.Join(w.dir, "movie.bin"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	w.client("prepare", "movie.bin")
	w.start(program(t), "client", "--data-dir", filepath.Join(w.dir, "chain"), "serve", "--listen", w.source)
	w.startHost()
	w.hostnode("availability", "add", "--size", "1GiB", "--duration", "720h", "--min-price", "1000",
		"--collateral", "5000000000000")
	w.startPrometheus()

	w.alerts("all is well")
	w.client("request", "movie.bin")
	w.until("all slots are sold", func() (bool, string) {
		said := w.client("status")
		return strings.Contains(said, "stored, 3 of 3 slots filled"), said
	})
	w.alerts("it sells")
	w.hostnode("drain", "--reason", "a test")
	paused := w.alerts("the queue is paused", "HostnodeNotSelling")
	w.kill(w.host)
	killed := time.Now()
	w.alerts("the host is killed", "HostnodeDown", "HostnodeNotSelling")
	w.until("a proof is missed", func() (bool, string) { return time.Since(killed) > outage, "it is not time yet" })
	w.startHost()
	back := w.alerts("the host is back, and still paused", "HostnodeNotSelling", "HostnodeProofMissed")
	if was, is := paused["HostnodeNotSelling"], back["HostnodeNotSelling"]; !is.Equal(was) {
		t.Errorf("it does not sell since %s; after the restart it is told again, since %s", was, is)
	}
	w.hostnode("drain", "--resume")
	w.alerts("it sells again")
	w.kill(w.chain)
	w.alerts("the chain is gone", "HostnodeChainAway", "HostnodeNotReady", "HostnodeNotSelling")
	w.startChain()
	w.alerts("the chain is back")
}

// unused is an address on which nobody listens now.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts a program that is killed at the end, and returns what it says.
func (w *watching) start(name string, args ...string) (*exec.Cmd, *tail) {
	w.Helper()
	out := &tail{}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.env, w.dir, out, out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if w.kill(cmd); w.Failed() {
			w.Logf("%v said:\n%s", args, out)
		}
	})
	return cmd, out
}

func (w *watching) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // It may have been killed before.
	_ = cmd.Wait()
}

// until waits for something, some minutes.
func (w *watching) until(what string, is func() (bool, string)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 3*time.Minute)
	defer cancel()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for {
		done, instead := is()
		if done {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			w.Fatalf("not yet: %s; instead: %s", what, instead)
		}
	}
}

func (w *watching) startChain() {
	w.Helper()
	var out *tail
	w.chain, out = w.start(program(w.T), "devchain", "--data-dir", filepath.Join(w.dir, "chain"), "--fund", w.account)
	w.until("the chain runs", func() (bool, string) {
		_, printed, found := strings.Cut(out.String(), "hostnode run ")
		line, _, whole := strings.Cut(printed, "\n")
		w.run = strings.Fields(line)
		return found && whole, out.String()
	})
}

func (w *watching) startHost() {
	w.Helper()
	var out *tail
	w.host, out = w.start(program(w.T), append([]string{
		"run", "--api-listen", w.metrics, "--content-sources", "http://" + w.source, "--sales-max-slots-per-request", "3",
	}, w.run...)...)
	w.until("the host runs", func() (bool, string) {
		return strings.Contains(out.String(), "the host runs"), out.String()
	})
}

// hostnode gives an order, and returns what is printed.
func (w *watching) hostnode(args ...string) string {
	w.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// client is hostnode for the client, who has the directory of the chain.
func (w *watching) client(args ...string) string {
	w.Helper()
	return w.hostnode(append([]string{"client", "--data-dir", filepath.Join(w.dir, "chain")}, args...)...)
}

func (w *watching) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.Context(), program(w.T), args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	return cmd
}

func (w *watching) startPrometheus() {
	w.Helper()
	rules, err := os.ReadFile("../../docs/prometheus/rules.yml")
	if err != nil {
		w.Fatal(err)
	}
	for what, here := range rulesHere {
		rules = what.ReplaceAll(rules, []byte(here))
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"+
		"scrape_configs:\n  - job_name: hostnode\n    static_configs: [{targets: ['%s']}]\n", w.metrics)
	for name, text := range map[string][]byte{"rules.yml": rules, "prometheus.yml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o600); err != nil {
			w.Fatal(err)
		}
	}
	w.start("prometheus", "--config.file="+filepath.Join(w.dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(w.dir, "tsdb"), "--web.listen-address="+w.prometheus)
}

// alerts waits until exactly these alerts fire, and the host's figures are known. It returns since when they are true.
func (w *watching) alerts(when string, want ...string) (fires map[string]time.Time) {
	w.Helper()
	slices.Sort(want)
	began := time.Now()
	w.until(when+": "+strings.Join(want, ", "), func() (bool, string) {
		var err error
		if fires, err = w.firing(); err != nil {
			return false, err.Error()
		}
		names := slices.Sorted(maps.Keys(fires))
		if slices.Equal(names, want) {
			return true, ""
		}
		status, _ := w.command("status").CombinedOutput() // It may be about a host that is not there.
		return false, strings.Join(names, ", ") + "\n" + string(status)
	})
	w.Logf("%s: after %s %v", when, time.Since(began).Round(time.Second), want)
	return fires
}

// other are alerts about what was in the last minutes or hours, which is over later than what the test waits for, and one
// whose threshold is for longer periods.
var other = []string{"HostnodeDiskFillsUp", "HostnodeEndpointFails", "HostnodeProofSlackSmall"}

func (w *watching) firing() (map[string]time.Time, error) {
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels   struct{ Alertname string }
				State    string
				ActiveAt time.Time
			}
			Result []any
		}
	}
	ask := func(path string) error {
		a, err := http.Get("http://" + w.prometheus + path)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		return json.NewDecoder(a.Body).Decode(&answer)
	}
	if err := ask("/api/v1/query?query=up"); err != nil {
		return nil, err
	}
	if len(answer.Data.Result) == 0 {
		return nil, fmt.Errorf("it has asked nothing yet")
	}
	if err := ask("/api/v1/alerts"); err != nil {
		return nil, err
	}
	fires := map[string]time.Time{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" && !slices.Contains(other, a.Labels.Alertname) {
			fires[a.Labels.Alertname] = a.ActiveAt
		}
	}
	return fires, nil
}
