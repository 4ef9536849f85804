package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// No images are pulled for tests, so what the files in package and deploy name is looked for: paths, settings, commands.
const (
	deployed = "../../deploy/"
	packages = "../../package/"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exact reads YAML into a type that has every key of it.
func exact(t *testing.T, path string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, path)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// commandExists checks that hostnode has a command with these flags.
func commandExists(t *testing.T, words ...string) {
	t.Helper()
	a := &app{App: &cli.App{}}
	cmd, rest, err := a.root().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || cmd.Args(cmd, cmd.Flags().Args()) != nil || !cmd.HasParent() {
		t.Errorf("hostnode %s: %v", strings.Join(words, " "), err)
	}
}

type service struct {
	Build                          struct{ Context, Dockerfile string }
	Image, Restart                 string
	NetworkMode                    string `yaml:"network_mode"`
	StopGracePeriod                string `yaml:"stop_grace_period"`
	ReadOnly                       bool   `yaml:"read_only"`
	Environment                    map[string]string
	Volumes, Tmpfs, Ports, Command []string
	Profiles                       []string
	CapDrop                        []string                              `yaml:"cap_drop"`
	SecurityOpt                    []string                              `yaml:"security_opt"`
	DependsOn                      map[string]struct{ Condition string } `yaml:"depends_on"`
}

func TestWhatTheComposeFileNamesExists(t *testing.T) {
	var file struct {
		Name     string
		Services map[string]service
		Volumes  map[string]any
	}
	exact(t, deployed+"compose.yaml", &file)
	for name, s := range file.Services {
		if s.Image == "" || s.Restart == "" {
			t.Errorf("%s has no image, or is not restarted", name)
		}
		for _, mount := range s.Volumes {
			from, to, _ := strings.Cut(mount, ":")
			if _, known := file.Volumes[from]; !known {
				if _, err := os.Stat(deployed + from); err != nil || !strings.HasSuffix(to, ":ro") {
					t.Errorf("%s mounts %s: %v", name, mount, err)
				}
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to other machines: %s", name, port)
			}
		}
		for other := range s.DependsOn {
			if _, known := file.Services[other]; !known {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
	}
	host := file.Services["hostnode"]
	if _, err := os.Stat(filepath.Join(deployed, host.Build.Context, host.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	environ := []string{"HOSTNODE_DATA_DIR=/var/lib/hostnode"}
	for name, value := range host.Environment {
		environ = append(environ, name+"="+value)
	}
	c, err := config.Load(config.Sources{Environ: environ, Flags: pflag.NewFlagSet("", pflag.ContinueOnError)})
	if err != nil {
		t.Fatal(err)
	}
	var scraped struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName        string                       `yaml:"job_name"`
			ScrapeInterval string                       `yaml:"scrape_interval"`
			StaticConfigs  []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	exact(t, deployed+"prometheus.yml", &scraped)
	if job := scraped.ScrapeConfigs[0]; job.JobName != "hostnode" || job.StaticConfigs[0].Targets[0] != c.API.Listen {
		t.Errorf("Prometheus asks %+v, and the host listens at %s", job, c.API.Listen)
	}
	if !strings.Contains(read(t, "../../docs/prometheus/rules.yml"), `job="hostnode"`) {
		t.Error("the rules are about another job")
	}
	commandExists(t, "init", "--yes", "--config", "/var/lib/hostnode/hostnode.yaml")
}

func TestGrafanaIsGivenADashboardAndItsSource(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, Type, Access, URL string
			IsDefault               bool `yaml:"isDefault"`
		}
	}
	exact(t, deployed+"grafana/datasource.yaml", &sources)
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	exact(t, deployed+"grafana/dashboards.yaml", &boards)
	compose := read(t, deployed+"compose.yaml")
	if sources.Datasources[0].Type != "prometheus" || !strings.Contains(compose, ":"+boards.Providers[0].Options.Path+"/") ||
		!strings.Contains(compose, "--web.listen-address="+strings.TrimPrefix(sources.Datasources[0].URL, "http://")) {
		t.Errorf("%+v, %+v", sources, boards)
	}
	if !json.Valid([]byte(read(t, "../../docs/grafana/hostnode.json"))) {
		t.Error("the dashboard is no JSON")
	}
}

func TestTheImageHasNoShellAndNoRoot(t *testing.T) {
	known := strings.Fields("FROM ARG WORKDIR COPY RUN ENV USER VOLUME STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD")
	stage, user := "", ""
	var check, start, usual []string
	for line := range strings.Lines(read(t, deployed+"Dockerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word == "#" {
			continue
		}
		if !slices.Contains(known, word) {
			t.Errorf("no instruction: %s", line)
		}
		list := func() (all []string) {
			if err := json.Unmarshal([]byte(rest[strings.Index(rest, "["):]), &all); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			return all
		}
		switch word {
		case "FROM":
			stage, user = rest, ""
		case "RUN":
			if stage == "scratch" {
				t.Errorf("there is no shell for %s", line)
			}
		case "COPY":
			paths := strings.Fields(rest)
			if strings.HasPrefix(paths[0], "--") { // From the stage before.
				continue
			}
			for _, path := range paths[:len(paths)-1] {
				if _, err := os.Stat("../../" + path); err != nil {
					t.Error(err)
				}
			}
		case "USER":
			user = rest
		case "HEALTHCHECK":
			check = list()
		case "ENTRYPOINT":
			start = list()
		case "CMD":
			usual = list()
		}
	}
	if stage != "scratch" || user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Errorf("the image is made from %s, for the user %q", stage, user)
	}
	commandExists(t, check[1:]...)
	commandExists(t, append(start[1:], usual...)...)
}

func TestTheUnitStartsWhatThePackageHas(t *testing.T) {
	unit := map[string]string{}
	for line := range strings.Lines(read(t, packages+"hostnode.service")) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			unit[key] += value
		}
	}
	words := strings.Fields(unit["ExecStart"])
	if words[0] != "/usr/bin/hostnode" || !slices.Contains(words, cli.Packaged) {
		t.Errorf("ExecStart=%s", unit["ExecStart"])
	}
	commandExists(t, words[1:]...)
	if patience := unit["TimeoutStopSec"]; patience != "90s" || endTime.Seconds() >= 90 {
		t.Errorf("a host takes %s to end, and is killed after %s", endTime, patience)
	}
	recipe := read(t, packages+"nfpm.yaml")
	for _, path := range []string{
		cli.Packaged, "docs/hostnode.example.yaml", "package/postinst", "package/prerm", "package/postrm",
	} {
		if !strings.Contains(recipe, path) {
			t.Errorf("the package has no %s", path)
		}
	}
	if text := read(t, "../../docs/hostnode.example.yaml"); text != config.Example() {
		t.Error("init would not fill in the package's file of settings, because it is not the example of this program")
	}
}
