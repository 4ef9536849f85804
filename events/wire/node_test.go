package wire_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/wire"
)

// nodeClient names the directory into which `make node-client` has installed
// the clients from npm.
const nodeClient = "HOSTNODE_NODE_CLIENT"

func TestNodeClientAppendsReadsSubscribesAndDeletes(t *testing.T) {
	directory := os.Getenv(nodeClient)
	if directory == "" {
		t.Skip("needs node and the clients from npm; run: make node-client")
	}
	// A part of KurrentDB's client takes the password of a URL as it is written.
	const plain = "correct-horse"
	secured := func(t *testing.T) *served {
		return serveTLS(t, func(cfg *wire.Config) {
			cfg.Users = []wire.User{{Name: "node", PasswordHash: bcryptOf(plain), Role: wire.RoleAdmin}}
		})
	}
	for _, c := range []struct {
		name  string
		serve func(*testing.T) (connection string)
	}{
		{"plain", func(t *testing.T) string {
			return "esdb://" + serve(t, nil).address + "?tls=false"
		}},
		{"plain with a user, who cannot be known", func(t *testing.T) string {
			return "esdb://admin:changeit@" + serve(t, nil).address + "?tls=false"
		}},
		{"TLS with a user", func(t *testing.T) string {
			s := secured(t)
			return "esdb://node:" + plain + "@" + s.address + "?tlsCaFile=" + s.caFile
		}},
		{"TLS found by gossip", func(t *testing.T) string {
			s := secured(t)
			return "esdb+discover://node:" + plain + "@" + s.address + "?tlsCaFile=" + s.caFile
		}},
	} {
		for _, client := range []string{"@eventstore/db-client", "@kurrent/kurrentdb-client"} {
			t.Run(c.name+" with "+client, func(t *testing.T) {
				cmd := exec.CommandContext(soon(t), "node", "nodeclient/client.js", directory, client, c.serve(t))
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.HasSuffix(string(out), "done\n") {
					t.Fatalf("node client: %v\n%s", err, out)
				}
				t.Logf("\n%s", out)
			})
		}
	}
}
