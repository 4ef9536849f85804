package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// applyYAML lays a file over the configuration. Keys are matched one by one, so
// that every error names its line.
func (l *Loaded) applyYAML(path string, text []byte) error {
	at := func(n *yaml.Node, err error) error {
		return fmt.Errorf("%s:%d: %w", path, max(n.Line, 1), err)
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // An empty file, or one of comments only.
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrInvalid, err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return at(&second, fmt.Errorf("%w: the file holds a second document", ErrInvalid))
	}
	if len(doc.Content) == 0 {
		return nil
	}
	byKey := map[string]setting{}
	for _, s := range settings(&l.Config) {
		byKey[s.key] = s
	}
	return walk("", doc.Content[0], at, map[string]int{}, func(key string, value *yaml.Node) error {
		s, known := byKey[key]
		if !known {
			return at(value, fmt.Errorf("%w: unknown key %s%s", ErrInvalid, key, suggest(key, maps.Keys(byKey))))
		}
		if err := s.setNode(value); err != nil {
			return at(value, err)
		}
		l.sources[key] = fmt.Sprintf("file %s:%d", path, value.Line)
		return nil
	})
}

// section reports whether a key has keys below it.
func section(key string) bool {
	return slices.ContainsFunc(settings(&Config{}), func(s setting) bool { return strings.HasPrefix(s.key, key+".") })
}

// walk calls leaf for every key that is not a section. lines notes where each key is.
func walk(
	prefix string, n *yaml.Node, at func(*yaml.Node, error) error, lines map[string]int,
	leaf func(string, *yaml.Node) error,
) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil // A section whose lines are all commented out.
	}
	if n.Kind != yaml.MappingNode {
		what := cmp.Or(strings.TrimSuffix(prefix, "."), "the file")
		return at(n, fmt.Errorf("%w: %s must hold keys and values", ErrInvalid, what))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		key := prefix + name.Value
		if first, twice := lines[key]; twice {
			return at(name, fmt.Errorf("%w: %s is repeated here, it is first in line %d", ErrInvalid, key, first))
		}
		lines[key] = name.Line
		var err error
		if section(key) {
			err = walk(key+".", value, at, lines, leaf)
		} else {
			value.Line = name.Line // Complaints name the line of the key.
			err = leaf(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setNode stores a value from the file; no value keeps the default.
func (s setting) setNode(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		return s.set(n.Value)
	case n.Kind == yaml.SequenceNode:
		items := make([]string, 0, len(n.Content))
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return s.refuse("", errors.New("an entry of the list is no plain value"))
			}
			items = append(items, item.Value)
		}
		return s.setList(items)
	}
	return s.refuse("", errors.New("it takes a plain value"))
}

// suggest names the known word that is closest.
func suggest(word string, known iter.Seq[string]) string {
	if best := Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return "; `hostnode config example` lists all"
}

// Nearest returns the known word that is closest to what was typed; empty: none is close.
func Nearest(word string, known iter.Seq[string]) string {
	const near = 4 // edits; more is another word
	best, distance := "", min(near, (len(word)+3)/2)
	for k := range known {
		row := Edits(strings.ToLower(word), strings.ToLower(k))
		d := row[len(row)-1]
		if d < distance || d == distance && best != "" && k < best {
			best, distance = k, d
		}
	}
	return best
}

// Edits are the Levenshtein distances of a word to each beginning of another one, the shortest first. Of
// both, only the first 120 bytes count.
func Edits(a, b string) []int {
	const longest = 120
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row
}
