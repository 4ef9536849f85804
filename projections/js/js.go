// Package js holds the projections that run inside an EventStoreDB: the views
// of aggregates, availabilities, nodes, reservations, sectors and slots for people who look at a host with
// the tools of their event store and not with hostnode. They are JavaScript, as
// the server's own engine wants it, and each file explains itself in its first
// lines; start with availability.js.
//
// They show the same as the views of package projections; the tests here
// compare both event by event. Nothing in hostnode reads them: the command
// hostnode projections can remove them at any time, and install them again.
package js

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
)

//go:embed *.js shared/*.js
var files embed.FS

// shared is a line that stands for a file: what several projections have, each has whole on a server.
var shared = regexp.MustCompile(`(?m)^// with (shared/[a-z]+\.js)\n`)

// Projection is one that can be installed.
type Projection struct {
	// Name is what it is called on the server.
	Name string
	// Version counts the changes of a projection. The state of another version
	// has another form and cannot be continued.
	Version int
	// About is its first sentence.
	About string
	// Query is the whole source.
	Query string
}

// header is the beginning of each file.
var header = regexp.MustCompile(`^// (hostnode-[a-z]+), version ([1-9][0-9]*)\n//\n// ([^\n]+)\n`)

// Parse reads the header of a source, such as one that was found on a server.
func Parse(query string) (Projection, error) {
	found := header.FindStringSubmatch(query)
	if found == nil {
		return Projection{}, fmt.Errorf("this is no projection of hostnode: it does not begin with its name")
	}
	version, err := strconv.Atoi(found[2])
	if err != nil {
		return Projection{}, fmt.Errorf("read the version of %s: %w", found[1], err)
	}
	return Projection{Name: found[1], Version: version, About: found[3], Query: query}, nil
}

// All are the projections of this build, in order of their names.
func All() []Projection {
	var all []Projection
	for _, name := range []string{
		"aggregation.js", "availability.js", "node.js", "reservation.js", "sector.js", "sectors.js", "slot.js",
	} {
		p, err := Parse(shared.ReplaceAllStringFunc(read(name), func(line string) string {
			return read(shared.FindStringSubmatch(line)[1])
		}))
		if err != nil {
			panic("projections/js: " + name + ": " + err.Error())
		}
		all = append(all, p)
	}
	return all
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("projections/js: an embedded file is not there: " + err.Error())
	}
	return string(text)
}
