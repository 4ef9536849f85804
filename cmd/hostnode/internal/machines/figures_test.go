package machines_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sale"
)

func figures() []*api.Figure { return api.Figures(machines.API()) }

// every has one value of each figure.
type every []*api.Figure

func (every) Describe(chan<- *prometheus.Desc) {}

func (e every) Collect(to chan<- prometheus.Metric) {
	for _, f := range e {
		desc := prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		switch f.Kind {
		case api.Histogram:
			to <- prometheus.MustNewConstHistogram(desc, 1, 1, map[float64]uint64{1: 1}, f.Labels...)
		case api.Counter:
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, 1, f.Labels...)
		case api.Gauge:
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1, f.Labels...)
		}
	}
}

func TestFiguresAreNamedAsPrometheusWants(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(every(figures()))
	families, err := registry.Gather()
	if err != nil || len(families) != len(figures()) {
		t.Fatalf("%d of %d: %v", len(families), len(figures()), err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range figures() {
		if !strings.HasPrefix(f.Name, "hostnode_") || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: %s", f.Name, f.Help)
		}
	}
}

func TestTheReferenceOfFiguresIsCurrent(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Metrics

What /metrics has for Prometheus. This page is made from the program by ` + "`make generate`" + `; how to use them is told in
[operating](operating.md#watch-it-with-prometheus). Beside these, there are the figures of the Go runtime and of the process.

| metric | kind | labels | what |
|---|---|---|---|
`)
	all := figures()
	slices.SortFunc(all, func(a, b *api.Figure) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range all {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(f.Labels, ", "), f.Help)
	}
	golden(t, root+"docs/metrics.md", page.String())
}

func golden(t *testing.T, file, text string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("%s is stale; the flag -rewrite writes it anew:\n%s", file, diff)
	}
}

// recorded is a host that does not run, with the first events of a history.
func recorded(t *testing.T, name string, most int) *api.Offline {
	t.Helper()
	f, err := os.Open(root + "testdata/history/v1/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	now := func() time.Time { return events.Unix(1_800_000_000) }
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"), now())
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := embedded.Open(dir.Events(), embedded.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	var host events.Address
	for lines := bufio.NewScanner(f); lines.Scan() && most > 0; most-- {
		var e struct {
			Stream   string          `json:"stream"`
			Revision uint64          `json:"revision"`
			ID       string          `json:"id"`
			Type     string          `json:"type"`
			Meta     json.RawMessage `json:"meta"`
			Data     json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		id, err := events.ParseEventID(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		if parts := strings.Split(e.Stream, "-"); parts[0] != events.CategoryMarket && host.Zero() {
			host = events.Must(events.ParseAddress(parts[1]))
		}
		meta, foreign := events.DecodeMetadata(e.Meta)
		if _, err := store.Append(t.Context(), e.Stream, events.ExpectNext(e.Revision), []events.NewEvent{{
			ID: id, Type: e.Type, Data: e.Data, Meta: meta, Foreign: foreign,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.KeepToken(money.Of("TST", 18)); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := api.OpenOffline(t.Context(), api.OfflineConfig{Source: api.Source{
		DataDir: dir.Root, Account: host, Now: now, Machines: machines.API(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// scrape is what Prometheus would read, line by line, without comments.
func scrape(t *testing.T, b api.Backend) (lines []string) {
	t.Helper()
	log, said := test.NewNullLogger()
	w := httptest.NewRecorder()
	api.Handler(b, logrus.NewEntry(log)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || len(said.AllEntries()) > 0 {
		t.Fatalf("%d %s %v", w.Code, w.Body, said.AllEntries())
	}
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "hostnode_") && !strings.HasPrefix(line, "hostnode_store_read_seconds ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestScrapesOfRecordedHistories(t *testing.T) {
	for name, most := range map[string]int{"development_chain": 1000, "missed_proofs": 60, "sectors": 1000, "nodes": 20} {
		t.Run(name, func(t *testing.T) {
			lines := scrape(t, recorded(t, name, most))
			lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "_bucket{") })
			golden(t, "testdata/figures/"+name+".txt", strings.Join(lines, ""))
		})
	}
}

func TestFiguresAreWhatTheAPIAnswers(t *testing.T) {
	for _, name := range []string{"slashed", "paid", "sectors", "repaired", "aggregation"} {
		b := recorded(t, name, 1000)
		has := map[string]bool{}
		for _, line := range scrape(t, b) {
			has[strings.TrimSpace(line)] = true
		}
		want := func(format string, args ...any) {
			if line := fmt.Sprintf(format, args...); !has[line] {
				t.Errorf("%s: no %s", name, line)
			}
		}
		all, err := api.ListMachines.Ask(t.Context(), b, api.Then{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all.Machines {
			for state, n := range m.States {
				want(`hostnode_rows{machine=%q,state=%q} %d`, m.Machine, state, n)
			}
		}
		earned, err := api.ShowEarnings.Ask(t.Context(), b, api.Then{})
		if err != nil {
			t.Fatal(err)
		}
		p := earned.Settled.Proofs
		for outcome, n := range map[string]uint64{
			"open": p.Open, "submitted": p.Submitted, "missed": p.Missed, "excused": p.Excused, "lapsed": p.Lapsed,
		} {
			want(`hostnode_proofs{outcome=%q} %d`, outcome, n)
		}
		ledger, err := api.ShowLedger.Ask(t.Context(), b, api.Then{})
		if err != nil {
			t.Fatal(err)
		}
		for part, n := range map[string]events.Bytes{"free": ledger.Free, "stored": ledger.Stored} {
			want(`hostnode_ledger_bytes{part=%q} %v`, part, float64(n))
		}
		queue, err := api.ShowQueue.Ask(t.Context(), b, api.Then{})
		if err != nil {
			t.Fatal(err)
		}
		want(`hostnode_queue_slots{state="waiting"} %d`, queue.Length)
		want(`hostnode_record_position %d`, all.AsOf.Position)
	}
}

var (
	aMetric = regexp.MustCompile(`\bhostnode_[a-z_]+\b(?:\{([^}]*)\})?`)
	aLabel  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	grouped = regexp.MustCompile(`(?:by|on|without|ignoring)\s*\(([a-z_, ]+)\)`)
)

// values say which values some labels have.
var values = map[string]func(string) bool{
	"machine": func(name string) bool {
		_, known := catalog.Of(name + "-")
		return known
	},
	"code": func(code string) bool { // Its table is not for other packages.
		text, err := os.ReadFile(root + "actors/health/causes.go")
		return err == nil && strings.Contains(string(text), "\n\t{\""+code+"\", ")
	},
	"state": func(state string) bool {
		phase := func(p sale.Phase) bool { return p.String() == state }
		others := []string{"running", "suspended", "taken", "waiting"}
		return slices.ContainsFunc(sale.Phases(), phase) || slices.Contains(others, state)
	},
}

// unknown are the names and labels in a query that no figure has.
func unknown(query string) (wrong []string) {
	labels := map[string]bool{"le": true, "instance": true, "job": true}
	known := map[string]*api.Figure{}
	for _, f := range figures() {
		known[f.Name] = f
		if f.Kind == api.Histogram {
			known[f.Name+"_bucket"], known[f.Name+"_sum"], known[f.Name+"_count"] = f, f, f
		}
	}
	for _, found := range aMetric.FindAllStringSubmatch(query, -1) {
		name, _, _ := strings.Cut(found[0], "{")
		f := known[name]
		if f == nil {
			wrong = append(wrong, name)
			continue
		}
		for _, label := range f.Labels {
			labels[label] = true
		}
		for _, label := range aLabel.FindAllStringSubmatch(found[1], -1) {
			if !slices.Contains(append([]string{"instance", "job", "le"}, f.Labels...), label[1]) {
				wrong = append(wrong, name+"{"+label[1]+"}")
			}
			for value := range strings.SplitSeq(label[2], "|") {
				if is := values[label[1]]; is != nil && !is(value) {
					wrong = append(wrong, label[1]+"="+value)
				}
			}
		}
	}
	for _, found := range grouped.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(found[1], ",") {
			if label = strings.TrimSpace(label); !labels[label] {
				wrong = append(wrong, label)
			}
		}
	}
	return wrong
}

func TestQueriesWithUnknownNamesAreFound(t *testing.T) {
	for query, want := range map[string][]string{
		`rate(hostnode_events_total{event="X"}[5m])`:                      nil,
		`hostnode_nothing > 1`:                                            {"hostnode_nothing"},
		`hostnode_events_total{kind="X"}`:                                 {"hostnode_events_total{kind}"},
		`hostnode_rows{machine="sail",state=~"Proving|Provving"}`:         {"machine=sail", "state=Provving"},
		`hostnode_obstacles{code=~"no-gas|no-gass"}`:                      {"code=no-gass"},
		`sum by (machine, colour) (hostnode_rows)`:                        {"colour"},
		`sum by (le) (rate(hostnode_proof_duration_seconds_bucket[5m]))`:  nil,
		`hostnode_proof_duration_seconds_total or hostnode_proofs_bucket`: {"hostnode_proof_duration_seconds_total", "hostnode_proofs_bucket"},
	} {
		if diff := cmp.Diff(want, unknown(query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
}

func TestTheDashboardShowsOnlyWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(root + "docs/grafana/hostnode.json")
	if err != nil {
		t.Fatal(err)
	}
	type panel struct {
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	}
	var board struct {
		Panels     []panel `json:"panels"`
		Templating struct {
			List []struct {
				Query string `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	queries, shown := 0, ""
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries++
			shown += target.Expr + "\n"
			if wrong := unknown(target.Expr); len(wrong) > 0 || target.Expr == "" {
				t.Errorf("%s: %q has %q, which no figure is", p.Title, target.Expr, wrong)
			}
		}
	}
	if queries < 20 {
		t.Errorf("only %d queries", queries)
	}
	for _, v := range board.Templating.List {
		if wrong := unknown(v.Query); len(wrong) > 0 {
			t.Errorf("%q has %q", v.Query, wrong)
		}
	}
}

const rulesFile = root + "docs/prometheus/rules.yml"

func TestTheRulesAskOnlyForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	exprs := regexp.MustCompile(`(?m)^ +expr: (.+)$`).FindAllStringSubmatch(string(text), -1)
	alerts := regexp.MustCompile(`(?m)^ +- alert: `).FindAllString(string(text), -1)
	if len(exprs) < 15 || len(exprs) != len(alerts) {
		t.Errorf("%d expressions of %d alerts", len(exprs), len(alerts))
	}
	for _, e := range exprs {
		if wrong := unknown(e[1]); len(wrong) > 0 {
			t.Errorf("%s has %q", e[1], wrong)
		}
	}
	// A host that is down has no figures: what is asked of them as they are now must outlast its restart.
	for _, rule := range strings.Split(string(text), "- alert: ")[1:] {
		outlasts := regexp.MustCompile(`expr: (up\{|delta\(|rate\(|increase\()`).MatchString(rule)
		if keeps := strings.Contains(rule, "keep_firing_for: 5m"); keeps == outlasts {
			t.Errorf("it keeps firing: %t; it outlasts a restart without that: %t: %s", keeps, outlasts, rule)
		}
	}
	for _, field := range []string{"severity:", "summary:", "description:"} {
		if n := strings.Count(string(text), field); n != len(alerts) {
			t.Errorf("%d alerts, and %s %d times", len(alerts), field, n)
		}
	}
}

func TestTheRulesFireAndClear(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on this machine; Debian has it in the package prometheus")
	}
	for _, args := range [][]string{
		{"check", "rules", rulesFile}, {"test", "rules", root + "docs/prometheus/rules_test.yml"},
	} {
		if said, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, said)
		}
	}
}

// TestEachRuleIsTested holds where there is no promtool, too.
func TestEachRuleIsTested(t *testing.T) {
	names := func(file, pattern string) map[string]bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, name := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found[name[1]] = true
		}
		return found
	}
	rules := names(rulesFile, `- alert: (\w+)`)
	tested := names(root+"docs/prometheus/rules_test.yml", `alertname: (\w+)`)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(tested))); diff != "" {
		t.Error(diff)
	}
}
