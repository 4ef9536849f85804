package config

import (
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

// The tag secret of a field of Config says that a setting is secret, and how much of its
// value may be shown:
//
//	url      a URL; its user, password, query and the keys in its path are hidden
//	store    a connection string of an EventStoreDB; its password is hidden
//	webhook  a URL of which nothing but the host is shown
//	command  a command line of which nothing but the program is shown
//
// All code that shows a setting, or an error that may contain one, uses this file.

// redact returns a value fit to be shown, and what was left out.
func redact(kind, text string) (shown string, secrets []string) {
	switch kind {
	case "url":
		return events.RedactURL(text)
	case "store":
		return esdb.RedactSecrets(text)
	case "webhook":
		shown, secrets = events.RedactURL(text)
		scheme, rest, ok := strings.Cut(text, "://")
		host, path, more := strings.Cut(rest, "/")
		if !ok || !more || strings.Contains(host, "@") {
			return shown, secrets
		}
		return scheme + "://" + host + "/" + events.Hidden, append(secrets, path)
	case "command":
		program, arguments, more := strings.Cut(strings.TrimSpace(text), " ")
		switch {
		case !more:
			return text, nil
		case strings.Contains(program, "="): // A variable for the command.
			return events.Hidden, []string{text}
		}
		return program + " " + events.Hidden, append(strings.Fields(arguments), arguments)
	}
	return text, nil
}

// values are the texts of a setting that may contain secrets.
func (s setting) values() []string {
	if list, ok := s.value.Interface().([]string); ok {
		return list
	}
	return []string{s.text()}
}

// shown is the value, fit to be shown.
func (s setting) shown() string { return s.discreet(s.values()) }

func (s setting) discreet(values []string) string {
	var all []string
	for _, v := range values {
		shown, _ := redact(s.field.Tag.Get("secret"), v)
		all = append(all, shown)
	}
	return strings.Join(all, ",")
}

// Secrets returns all texts in the settings that must not appear in a log, an error
// or an answer.
func (c Config) Secrets() []string {
	var all []string
	for _, s := range settings(&c) {
		for _, v := range s.values() {
			_, secrets := redact(s.field.Tag.Get("secret"), v)
			all = append(all, secrets...)
		}
	}
	return all
}

// discreetly returns a value of the setting with this key, [2] for an item of a
// list, fit to be shown.
func discreetly(key, value string) string {
	key, _, _ = strings.Cut(key, "[")
	for _, s := range settings(&Config{}) {
		if s.key == key {
			return s.discreet([]string{value})
		}
	}
	return value
}
