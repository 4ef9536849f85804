package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

func TestTheLogShowsNoSecretOfASetting(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		c := config.Default()
		c.Log.Format = format
		c.Chain.Endpoint = "https://a.example/v3/planted-secret-of-32-characters"
		c.Content.Sources = []string{"http://b.example/planted-secret-of-a-source"}
		c.Alerts.Command = "curl -H planted-token https://hooks.example"
		var out bytes.Buffer
		log := NewLog(c, &out)
		err := fmt.Errorf("Get %q: %w", c.Content.Sources[0]+"/ipfs/z", errors.New("planted-token"))
		log.WithError(err).WithField("endpoint", c.Chain.Endpoint).Errorf("cannot reach %s: %v", c.Chain.Endpoint, err)
		log.Warn(c.Alerts.Command)
		if strings.Contains(out.String(), "planted") || strings.Count(out.String(), "***") < 5 {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}
