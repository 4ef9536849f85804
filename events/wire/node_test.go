package wire_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// nodeClient names the directory into which `make node-client` has installed
// the client from npm.
const nodeClient = "HOSTNODE_NODE_CLIENT"

func TestNodeClientAppendsReadsSubscribesAndDeletes(t *testing.T) {
	directory := os.Getenv(nodeClient)
	if directory == "" {
		t.Skip("needs node and EventStoreDB's client from npm; run: make node-client")
	}
	for _, c := range []struct {
		name  string
		serve func(*testing.T) (connection string)
	}{
		{"plain", func(t *testing.T) string {
			return "esdb://" + serve(t, nil).address + "?tls=false"
		}},
		{"TLS with a user", func(t *testing.T) string {
			s := serveTLS(t, nil)
			return "esdb://admin:" + strings.ReplaceAll(password, " ", "%20") + "@" + s.address + "?tlsCaFile=" + s.caFile
		}},
		{"TLS found by gossip", func(t *testing.T) string {
			s := serveTLS(t, nil)
			return "esdb+discover://admin:" + strings.ReplaceAll(password, " ", "%20") + "@" + s.address +
				"?tlsCaFile=" + s.caFile
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(soon(t), "node", "nodeclient/client.js", directory, c.serve(t))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "done\n") {
				t.Fatalf("node client: %v\n%s", err, out)
			}
			t.Logf("\n%s", out)
		})
	}
}
