package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/hostnode/hostnode/events"
)

// right is what a caller wants to do with a stream. Its name and its list in an ACL are found by its number.
type right uint8

const (
	toRead right = iota
	toWrite
	toDelete
	toReadMetadata
	toWriteMetadata
)

// groupAll stands for everybody in ACLs. EventStoreDB's other groups play no
// part: ACLs do not bind $admins, and no user has the role $ops.
const groupAll = "$all"

// allStream is the name of the global order in requests and ACLs.
const allStream = "$all"

// settingsStream has the default ACLs of an EventStoreDB. Here they would be
// stored and protect nothing.
const settingsStream = "$settings"

func (r right) String() string {
	return [...]string{"read", "append to", "delete", "read the metadata of", "set the metadata of"}[r]
}

// writes reports whether a right is one to change something.
func (r right) writes() bool { return r == toWrite || r == toDelete || r == toWriteMetadata }

// of returns the list of an ACL for a right; nil when it has none.
func (r right) of(acl *events.ACL) []string {
	if acl == nil {
		return nil
	}
	return [...][]string{acl.Read, acl.Write, acl.Delete, acl.MetaRead, acl.MetaWrite}[r]
}

// target returns the stream whose ACL decides, and the right that it decides
// about: a stream's ACL also decides about its metadata.
func target(stream string, r right) (string, right) {
	of, isMetadata := events.MetadataOf(stream)
	switch {
	case !isMetadata:
		return stream, r
	case r == toRead:
		return of, toReadMetadata
	default:
		return of, toWriteMetadata
	}
}

// allow reports whether the caller may do something with a stream; the error is
// one for the client.
func (s *Server) allow(ctx context.Context, r right, stream string) error {
	who := callerOf(ctx)
	of, r := target(stream, r)
	no := func(why string) error {
		sentence := fmt.Sprintf("%s may not %s stream '%s': %s", who, r, of, why)
		return excepted(codes.PermissionDenied, sentence, nil, exceptionDenied)
	}
	if r == toWrite && of == settingsStream {
		return no("this server has no default access control lists; set $acl in the metadata of each stream")
	}
	if r.writes() && s.isGuarded(of) {
		return no("it is the host's own record, read-only over the wire")
	}
	switch who.role {
	case RoleAdmin:
		return nil
	case RoleAuditor:
		if r.writes() {
			return no("auditors only read")
		}
		return nil
	case RoleOperator:
		if r == toWriteMetadata || r.writes() && events.IsSystem(of) {
			return no("that is for administrators")
		}
	case RoleHost:
		if why := hostMay(s.cfg.Streams, who.account, r, of); why != "" {
			return no(why)
		}
		return nil
	case RoleNone:
		return no("log in as somebody who may")
	default:
		return no("unknown role")
	}
	listed, err := s.listed(ctx, who, r, of)
	if errors.Is(err, events.ErrStreamDeleted) {
		return nil // Its list ended with it, and so did all that it protects.
	}
	if err != nil {
		return refuse(err, of)
	}
	if !listed {
		return no("its access control list does not name you")
	}
	return nil
}

// isGuarded reports whether a stream is the host's own, or an index over such
// streams. Metadata streams are judged by the stream that they describe, at any
// depth, because metadata could hide events of the host.
func (s *Server) isGuarded(stream string) bool {
	for of, is := events.MetadataOf(stream); is; of, is = events.MetadataOf(of) {
		stream = of
	}
	return s.guarded[events.Category(stream)] || len(s.guarded) > 0 && events.IsVirtual(stream)
}

// listed reports whether the ACL of a stream leaves a right to an operator.
func (s *Server) listed(ctx context.Context, who caller, r right, stream string) (bool, error) {
	acl, err := s.aclOf(ctx, stream)
	if err != nil {
		return false, err
	}
	names := r.of(acl)
	if names == nil {
		return true, nil
	}
	return slices.Contains(names, groupAll) || who.name != "" && slices.Contains(names, who.name), nil
}

// aclOf reads the ACL that is in force for a stream; nil when there is none.
func (s *Server) aclOf(ctx context.Context, stream string) (*events.ACL, error) {
	r, _, err := events.Last(ctx, s.cfg.Store, events.MetadataStream(stream))
	if err != nil {
		return nil, fmt.Errorf("read the access control list of %s: %w", stream, err)
	}
	if r.Type != events.TypeMetadata {
		return nil, nil
	}
	meta, err := events.ParseStreamMetadata(r.Data)
	if err == nil && meta.UnusableACL() {
		err = fmt.Errorf("the access control list of %s: %w", stream, events.ErrMalformed)
	}
	return meta.ACL, err
}

// sight decides which events of the global order and of indexes a caller may
// see: those of streams that it may read. It remembers its answers until
// forget, so that a page of events costs one look-up per stream.
type sight struct {
	s     *Server
	all   bool
	known map[string]bool
}

func (s *Server) sightOf(ctx context.Context) *sight {
	role := callerOf(ctx).role
	return &sight{s: s, all: role != RoleOperator && role != RoleHost, known: map[string]bool{}}
}

func (v *sight) forget() { clear(v.known) }

func (v *sight) sees(ctx context.Context, stream string) (bool, error) {
	if v.all {
		return true, nil
	}
	sees, known := v.known[stream]
	if known {
		return sees, nil
	}
	of, r := target(stream, toRead)
	who := callerOf(ctx)
	if who.role == RoleHost { // By its name; not worth remembering.
		return hostMay(v.s.cfg.Streams, who.account, r, of) == "", nil
	}
	sees, err := v.s.listed(ctx, who, r, of)
	if errors.Is(err, events.ErrStreamDeleted) { // It is not known any more who could read it.
		sees, err = false, nil
	}
	if err == nil {
		v.known[stream] = sees
	}
	return sees, err
}

func (c caller) String() string {
	if c.name == "" {
		return "a caller without credentials"
	}
	return "user " + c.name
}
