package wire_test

import (
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc/codes"

	"github.com/hostnode/hostnode/events"
)

// TestWhatIsNotServedIsSaidOverEveryMethod: the connection lives on, and the same one is
// used all the time.
func TestWhatIsNotServedIsSaidOverEveryMethod(t *testing.T) {
	const (
		groups      = "/event_store.client.persistent_subscriptions.PersistentSubscriptions/"
		projections = "/event_store.client.projections.Projections/"
	)
	s := serve(t, nil)
	conn := s.raw(t)
	for method, says := range map[string]string{
		groups + "Create":           "persistent subscriptions are not served",
		groups + "Update":           "persistent subscriptions are not served",
		groups + "Delete":           "persistent subscriptions are not served",
		groups + "GetInfo":          "persistent subscriptions are not served",
		groups + "List":             "persistent subscriptions are not served",
		groups + "ReplayParked":     "persistent subscriptions are not served",
		groups + "RestartSubsystem": "persistent subscriptions are not served",
		projections + "Create":      "projections are not served",
		projections + "Statistics":  "projections are not served",
		"/event_store.client.operations.Operations/StartScavenge": "not served",
		"/event_store.client.users.Users/Create":                  "not served",
	} {
		err := conn.Invoke(soon(t), method, &shared.Empty{}, &shared.Empty{})
		wantStatus(t, err, codes.Unimplemented)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", method, err, says)
		}
	}
	if members, err := gossipOf(soon(t), conn); err != nil || len(members) != 1 {
		t.Errorf("afterwards: %v, %v", members, err)
	}
}

func TestTheOfficialClientIsToldWhatIsNotServed(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "a-1", numbers(1)...)
	for name, call := range map[string]func() error{
		"create": func() error {
			return c.CreatePersistentSubscription(soon(t), "a-1", "g", esdb.PersistentStreamSubscriptionOptions{})
		},
		"info": func() error {
			_, err := c.GetPersistentSubscriptionInfo(soon(t), "a-1", "g", esdb.GetPersistentSubscriptionOptions{})
			return err
		},
		"list": func() error {
			_, err := c.ListAllPersistentSubscriptions(soon(t), esdb.ListPersistentSubscriptionsOptions{})
			return err
		},
		"replay": func() error {
			return c.ReplayParkedMessages(soon(t), "a-1", "g", esdb.ReplayParkedMessagesOptions{})
		},
		"restart": func() error {
			return c.RestartPersistentSubscriptionSubsystem(soon(t), esdb.RestartPersistentSubscriptionSubsystemOptions{})
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "persistent subscriptions are not served") {
			t.Errorf("%s: %v", name, err)
		}
	}
	appendTo(t, c, "a-1", numbers(1)...) // The client lives on.
}

// TestEveryMethodOfPersistentSubscriptionsIsListed: clients that do not find one listed ask over
// HTTP, or say that the server is too old.
func TestEveryMethodOfPersistentSubscriptionsIsListed(t *testing.T) {
	s := serve(t, nil)
	all, err := serverfeatures.NewServerFeaturesClient(s.raw(t)).GetSupportedMethods(soon(t), &shared.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range strings.Fields("create delete getinfo list read replayparked restartsubsystem update") {
		missing[name] = true
	}
	for _, m := range all.GetMethods() {
		if strings.HasSuffix(m.GetServiceName(), ".persistentsubscriptions") {
			delete(missing, m.GetMethodName())
		}
	}
	if len(missing) > 0 {
		t.Errorf("not listed: %v", missing)
	}
}

// TestNamesThatCannotBeWrittenAreRefusedToAdminsToo: the last of them ends the process of an
// EventStoreDB.
func TestNamesThatCannotBeWrittenAreRefusedToAdminsToo(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	longest := strings.Repeat("n", events.MaxStreamNameBytes)
	appendTo(t, c, longest, numbers(1)...)
	if all, err := readAll(c.ReadStream(soon(t), longest, esdb.ReadStreamOptions{}, 10)); err != nil || len(all) != 1 {
		t.Errorf("the longest name has %d events: %v", len(all), err)
	}
	for _, stream := range []string{"$all", "$ce-x", "$et-x", "$bc-x", "$streams", longest + "n", "$$"} {
		if _, err := c.AppendToStream(soon(t), stream, esdb.AppendToStreamOptions{}, numbers(1)...); err == nil {
			t.Errorf("%.20q took an event", stream)
		}
		if _, err := c.DeleteStream(soon(t), stream, esdb.DeleteStreamOptions{}); err == nil {
			t.Errorf("%.20q was deleted", stream)
		}
	}
	appendTo(t, c, "a-1", numbers(1)...)
}
