package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hostnode/hostnode/events"
)

// ErrInvalid: a setting has a value that is not allowed, or is unknown.
var ErrInvalid = errors.New("invalid setting")

// ErrNoFile: the configuration file that was named does not exist.
var ErrNoFile = errors.New("there is no such configuration file")

// maxListItems bounds a list that has no limit of its own.
const maxListItems = 1024

// setting is one leaf of Config.
type setting struct {
	key   string // sales.maxWorkers
	owner string // name of the struct it is a field of, with its package
	field reflect.StructField
	value reflect.Value
}

// settings lists the leaves of a configuration in the order of the struct. Setting
// one of them changes c.
func settings(c *Config) []setting {
	return leaves("", reflect.ValueOf(c).Elem())
}

func leaves(prefix string, parent reflect.Value) []setting {
	var all []setting
	for i := range parent.NumField() {
		field := parent.Type().Field(i)
		key := prefix + field.Tag.Get("key")
		if field.Type.Kind() == reflect.Struct {
			all = append(all, leaves(key+".", parent.Field(i))...)
			continue
		}
		all = append(all, setting{key, parent.Type().String(), field, parent.Field(i)})
	}
	return all
}

// words splits a key at dots and capitals: sales.maxWorkers is sales, max, workers.
func words(key string) []string {
	var all []string
	start := 0
	for i, r := range key {
		switch {
		case r == '.':
			all, start = append(all, strings.ToLower(key[start:i])), i+1
		case unicode.IsUpper(r):
			all, start = append(all, strings.ToLower(key[start:i])), i
		}
	}
	return append(all, strings.ToLower(key[start:]))
}

// variable is the name of the setting in the environment.
func (s setting) variable() string {
	return prefix + strings.ToUpper(strings.Join(words(s.key), "_"))
}

// flag is the name of the setting on the command line, without the dashes: the
// words of the key, unless the field has a shorter name of its own.
func (s setting) flag() string {
	if own := s.field.Tag.Get("flag"); own != "" {
		return own
	}
	return strings.Join(words(s.key), "-")
}

// set parses a text, checks it against the limits of the setting, and stores it.
func (s setting) set(text string) error {
	v, err := parse(s.field.Type, text)
	if err != nil {
		return s.refuse(text, err)
	}
	if err := s.check(v); err != nil {
		return s.refuse(text, err)
	}
	s.value.Set(v)
	return nil
}

// setList stores the items of a list.
func (s setting) setList(items []string) error {
	if s.field.Type.Kind() != reflect.Slice {
		return s.refuse(strings.Join(items, ","), errors.New("it takes one value, not a list"))
	}
	v := reflect.ValueOf(items)
	if err := s.check(v); err != nil {
		return s.refuse(strings.Join(items, ","), err)
	}
	s.value.Set(v)
	return nil
}

// refuse says which setting is wrong, with which value, and what is allowed.
func (s setting) refuse(text string, err error) error {
	values := []string{text}
	if s.field.Type.Kind() == reflect.Slice {
		values = strings.Split(text, ",")
	}
	const most = 200
	allowed := s.allowed()
	if allowed != "" {
		allowed = "; allowed: " + allowed
	}
	return fmt.Errorf("%w: %s = %q: %w%s", ErrInvalid, s.key, events.Clip(s.discreet(values), most), err, allowed)
}

// errNumber replaces the long errors of strconv.
var errNumber = errors.New("not a whole number")

func parse(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[events.Bytes]():
		b, err := ParseBytes(text)
		v.SetUint(uint64(b))
		return v, err
	case t == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil {
			err = errors.New("not a duration, write for example 500ms, 30s or 2h")
		}
		v.SetInt(int64(d))
		return v, err
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.TrimSpace(text))
		if err != nil {
			return v, errors.New("neither true nor false")
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 0)
		if err != nil {
			return v, errNumber
		}
		v.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return v, errNumber
		}
		v.SetUint(n)
	case reflect.Slice:
		var items []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		v.Set(reflect.ValueOf(items))
	default:
		panic("config: no parser for a field of type " + t.String())
	}
	return v, nil
}

// check compares a value with the limits in the tags.
func (s setting) check(v reflect.Value) error {
	tag := s.field.Tag
	if choices := strings.Fields(tag.Get("oneOf")); len(choices) > 0 {
		if slices.Contains(choices, v.String()) {
			return nil
		}
		if best := Nearest(v.String(), slices.Values(choices)); best != "" {
			return fmt.Errorf("no such choice, did you mean %s?", best)
		}
		return errors.New("no such choice")
	}
	if v.Kind() == reflect.Slice {
		most := maxListItems
		if m := tag.Get("max"); m != "" {
			most = int(limit(reflect.TypeFor[int](), m).Int())
		}
		if v.Len() > most {
			return fmt.Errorf("%d entries are too many", v.Len())
		}
		return nil
	}
	if least := tag.Get("min"); least != "" && less(v, limit(v.Type(), least)) {
		return errors.New("too small")
	}
	if v.CanInt() && tag.Get("min") == "" && v.Int() < 0 {
		return errors.New("negative")
	}
	if most := tag.Get("max"); most != "" && less(limit(v.Type(), most), v) {
		return errors.New("too large")
	}
	return nil
}

func limit(t reflect.Type, text string) reflect.Value {
	v, err := parse(t, text)
	if err != nil {
		panic("config: limit " + text + ": " + err.Error())
	}
	return v
}

func less(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	}
	return false
}

// allowed describes the allowed values; empty when any text is allowed.
func (s setting) allowed() string {
	tag := s.field.Tag
	if choices := strings.Fields(tag.Get("oneOf")); len(choices) > 0 {
		return strings.Join(choices, ", ")
	}
	most := tag.Get("max")
	if s.field.Type.Kind() == reflect.Bool {
		return "true, false"
	}
	if s.field.Type.Kind() == reflect.Slice {
		return "a list of at most " + most + " entries"
	}
	if most == "" {
		return ""
	}
	return cmp.Or(tag.Get("min"), "0") + " to " + most
}

// text is the value in the form of the file.
func (s setting) text() string {
	switch v := s.value.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case time.Duration:
		return shortDuration(v)
	case events.Bytes:
		return bytesText(v)
	default:
		return fmt.Sprint(v)
	}
}

// shortDuration drops the zeros of 1h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
