package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const (
	// prefix of the variables in the environment.
	prefix = "HOSTNODE_"
	// testPrefix begins variables that belong to tests and are ignored.
	testPrefix = prefix + "TEST_"
	// fileVariable and fileFlag name the configuration file.
	fileVariable = prefix + "CONFIG"
	fileFlag     = "config"
	// FileName is the file in the data directory that is read when no other is
	// named.
	FileName = "hostnode.yaml"
	// maxFileBytes is the most bytes of a file; the commented example has 8 KiB.
	maxFileBytes = 1 << 20
)

// Sources are where values come from, besides the defaults.
type Sources struct {
	// Environ are NAME=value pairs, such as os.Environ gives.
	Environ []string
	// Flags were bound with AddFlags and have been parsed; nil: none.
	Flags *pflag.FlagSet
}

// Setting is a value with its source, for people.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Default is the value if it is set nowhere; empty: none, or it follows from other settings.
	Default string `json:"default"`
	Source  string `json:"source"`
	// About is a sentence on what it is for.
	About string `json:"about"`
	// Variable and Flag are its other names.
	Variable string `json:"variable"`
	Flag     string `json:"flag"`
}

// Loaded is a configuration that was read and found valid.
type Loaded struct {
	Config
	// File is the file that was read; empty when there was none.
	File string

	named   bool // File, by a flag or the environment
	sources map[string]string
}

// Settings lists all values with their sources, in the order of the struct.
func (l Loaded) Settings() []Setting {
	var all []Setting
	comments, def := fieldComments(), Default()
	byDefault := settings(&def)
	for i, s := range settings(&l.Config) {
		all = append(all, Setting{
			s.key, s.shown(), byDefault[i].text(), l.sources[s.key], comments[s.owner+"."+s.field.Name].short(),
			s.variable(), "--" + s.flag(),
		})
	}
	return all
}

// Where is what a command needs after its words to mean this host: the file that was named, and the data directory
// unless that follows from the file or is the default.
func (l Loaded) Where() (flags string) {
	if l.named {
		flags = " --" + fileFlag + " " + l.File
	}
	if by := l.sources["dataDir"]; by != "default" && !(l.named && strings.HasPrefix(by, "file ")) {
		flags += " --data-dir " + l.DataDir
	}
	return flags
}

// Default is the configuration without any source. Paths that depend on the user are
// empty.
func Default() Config {
	var c Config
	for _, s := range settings(&c) {
		if def := s.field.Tag.Get("def"); def != "" {
			if err := s.set(def); err != nil {
				panic("config: default of " + s.key + ": " + err.Error())
			}
		}
	}
	return c
}

// Environ returns every setting as a variable, so that another process of this
// program has the same configuration, whatever files it finds. Secrets are in clear
// text.
func (c Config) Environ() []string {
	var all []string
	for _, s := range settings(&c) {
		all = append(all, s.variable()+"="+s.text())
	}
	return all
}

// Changed yields the keys whose values are not the defaults, and the values.
func (c Config) Changed() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		def := Default()
		for i, s := range settings(&def) {
			if now := settings(&c)[i].text(); now != s.text() && !yield(s.key, now) {
				return
			}
		}
	}
}

// Foreign returns the variables of an environment that are not settings of this program.
func Foreign(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		return strings.HasPrefix(pair, prefix) && !strings.HasPrefix(pair, testPrefix)
	})
}

// AddFlags defines flags for the keys, or for all settings if there are none, and --config.
func AddFlags(flags *pflag.FlagSet, keys ...string) {
	if flags.Lookup(fileFlag) == nil {
		flags.String(fileFlag, "", "configuration `file` (default "+FileName+" in the data directory)")
	}
	comments := fieldComments()
	c := Default()
	for _, s := range settings(&c) {
		if len(keys) > 0 && !slices.Contains(keys, s.key) || flags.Lookup(s.flag()) != nil {
			continue
		}
		flag := flags.VarPF(flagValue{s}, s.flag(), "", comments[s.owner+"."+s.field.Name].short())
		if s.field.Type.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
	}
}

// flagValue checks a flag as soon as it is parsed.
type flagValue struct{ setting }

// Set implements pflag.Value.
func (f flagValue) Set(text string) error { return f.set(text) }

// String implements pflag.Value. Parsed again, it is the same value.
func (f flagValue) String() string { return f.text() }

// Type implements pflag.Value.
func (f flagValue) Type() string {
	switch f.field.Type.String() {
	case "events.Bytes":
		return "size"
	case "time.Duration":
		return "duration"
	case "[]string":
		return "list"
	case "int", "uint64":
		return "number"
	}
	return "text"
}

// Load reads all sources and checks the result. Its errors say which setting, from
// which source, with which value is wrong and what is allowed; they wrap ErrInvalid,
// or what the file system says.
func Load(from Sources) (Loaded, error) {
	l := Loaded{Config: Default(), sources: map[string]string{}}
	for _, s := range settings(&l.Config) {
		l.sources[s.key] = "default"
	}
	env, err := ours(from.Environ)
	if err != nil {
		return Loaded{}, err
	}
	if err := l.readFile(env, from.Flags); err != nil {
		return Loaded{}, err
	}
	if err := l.overlay(env, from.Flags); err != nil {
		return Loaded{}, err
	}
	if err := l.derive(env); err != nil {
		return Loaded{}, err
	}
	if err := l.Validate(); err != nil {
		return Loaded{}, err
	}
	return l, nil
}

// Draft is a configuration from the environment and flags alone, before there is a file, and not validated yet. The
// path is where Load looks for the file.
func Draft(from Sources) (l Loaded, path string, err error) {
	l = Loaded{Config: Default(), sources: map[string]string{}}
	for _, s := range settings(&l.Config) {
		l.sources[s.key] = "default"
	}
	env, err := ours(from.Environ)
	if err == nil {
		err = l.overlay(env, from.Flags)
	}
	if err == nil {
		err = l.derive(env)
	}
	path, named := fileOf(env, from.Flags)
	if !named {
		path = filepath.Join(l.DataDir, FileName)
	}
	return l, path, err
}

// ours selects the variables of this program and refuses unknown ones. Two that
// are needed for defaults keep their own names.
func ours(environ []string) (map[string]string, error) {
	known := map[string]bool{fileVariable: true}
	for _, s := range settings(&Config{}) {
		known[s.variable()] = true
	}
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "HOME" || name == "XDG_DATA_HOME" || name == "XDG_CACHE_HOME":
			env[name] = value
		case !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, testPrefix):
		case !known[name]:
			return nil, fmt.Errorf("%w: the environment has %s, which is no setting%s",
				ErrInvalid, name, suggest(name, maps.Keys(known)))
		default:
			env[name] = value
		}
	}
	return env, nil
}

// readFile reads the named file, or the one in the data directory if there is one.
func (l *Loaded) readFile(env map[string]string, flags *pflag.FlagSet) error {
	path, named := fileOf(env, flags)
	dir := ""
	if !named {
		early := Loaded{Config: Default(), sources: map[string]string{}}
		if err := early.overlay(env, flags); err != nil {
			return err
		}
		if err := early.derive(env); err != nil {
			return err
		}
		dir = early.DataDir
		path = filepath.Join(dir, FileName)
	}
	text, err := read(path, maxFileBytes, func(fs.FileMode) error { return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNoFile, err)
	case err != nil:
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := l.applyYAML(path, text); err != nil {
		return err
	}
	l.File, l.named = path, named
	if l.DataDir != "" && !named && filepath.Clean(l.DataDir) != filepath.Clean(dir) {
		return fmt.Errorf("%w: %s lies in the data directory %s and names another one, %s; remove "+
			"dataDir from it, or name the file with --%s", ErrInvalid, path, dir, l.DataDir, fileFlag)
	}
	return nil
}

func fileOf(env map[string]string, flags *pflag.FlagSet) (path string, named bool) {
	if flags != nil {
		if f := flags.Lookup(fileFlag); f != nil && f.Changed {
			return f.Value.String(), true
		}
	}
	path = env[fileVariable]
	return path, path != ""
}

// ReadPrivate reads a file of limited size that only its owner can read; any other is
// ErrInvalid.
func ReadPrivate(path string, most int64) ([]byte, error) {
	return read(path, most, func(m fs.FileMode) error {
		if m.IsRegular() && m.Perm()&^0o600 == 0 {
			return nil
		}
		return fmt.Errorf("%w: %s must be a plain file that only its owner can read; run: chmod 600 %s",
			ErrInvalid, path, path)
	})
}

func read(path string, most int64, fits func(fs.FileMode) error) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = fits(info.Mode())
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%w: %s is larger than %d bytes", ErrInvalid, path, most)
	}
	return text, err
}

// overlay applies environment and flags.
func (l *Loaded) overlay(env map[string]string, flags *pflag.FlagSet) error {
	for _, s := range settings(&l.Config) {
		if text, ok := env[s.variable()]; ok {
			if err := s.set(text); err != nil {
				return fmt.Errorf("environment variable %s: %w", s.variable(), err)
			}
			l.sources[s.key] = "environment " + s.variable()
		}
		if flags == nil {
			continue
		}
		f := flags.Lookup(s.flag())
		if f == nil || !f.Changed {
			continue
		}
		if err := s.set(f.Value.String()); err != nil {
			return fmt.Errorf("flag --%s: %w", s.flag(), err)
		}
		l.sources[s.key] = "flag --" + s.flag()
	}
	return nil
}

// derive fills the paths that depend on the user or on other settings.
func (l *Loaded) derive(env map[string]string) error {
	if l.DataDir == "" {
		base, err := userDir(env, "XDG_DATA_HOME", ".local/share")
		if err != nil {
			return fmt.Errorf("%w; set dataDir (--data-dir)", err)
		}
		l.DataDir, l.sources["dataDir"] = filepath.Join(base, "hostnode"), "default"
	}
	abs, err := filepath.Abs(l.DataDir)
	if err != nil {
		return fmt.Errorf("data directory %q: %w", l.DataDir, err)
	}
	l.DataDir = abs
	if l.Account.KeyFile == "" && l.Account.Signer == "" {
		l.Account.KeyFile = filepath.Join(l.DataDir, "account.key")
	}
	if l.Prover.KeysDir == "" {
		base, err := userDir(env, "XDG_CACHE_HOME", ".cache")
		if err != nil {
			// A service without a home directory keeps them with its data.
			base = filepath.Join(l.DataDir, "cache")
		}
		l.Prover.KeysDir = filepath.Join(base, "hostnode", "keys")
	}
	return nil
}

func userDir(env map[string]string, variable, below string) (string, error) {
	if dir := env[variable]; filepath.IsAbs(dir) {
		return dir, nil
	}
	if home := env["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, below), nil
	}
	return "", fmt.Errorf("%w: neither $%s nor $HOME is set", ErrInvalid, variable)
}
