package alerts

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// The formats of a webhook.
const (
	FormatHostnode     = "hostnode"
	FormatAlertmanager = "alertmanager"
)

// The headers of what is posted with a signature. The signature is "sha256=" and the HMAC-SHA256, in hex, over the
// time, a dot and the body; the time is in seconds since 1970. A receiver that checks both refuses what is old, so that
// nobody can send it again.
const (
	HeaderTime      = "Hostnode-Time"
	HeaderSignature = "Hostnode-Signature"
)

// sign adds the signature, if there is a key.
func (s *Sender) sign(h http.Header, body []byte, now time.Time) {
	if len(s.cfg.Key) == 0 {
		return
	}
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, s.cfg.Key)
	_, _ = mac.Write([]byte(at + ".")) // It never fails.
	_, _ = mac.Write(body)
	h.Set(HeaderTime, at)
	h.Set(HeaderSignature, "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// encoded is an alert as JSON, without secrets. Only alerts of the host have Alertmanager's format.
func (s *Sender) encoded(alert any, format string) []byte {
	if a, ok := alert.(health.Alert); ok && format == FormatAlertmanager {
		alert = []posted{forAlertmanager(a)}
	}
	body, err := json.Marshal(alert)
	if err != nil { // No value that is sent has parts without a JSON form.
		s.cfg.Log.Errorf("an alert has no JSON form: %v", err)
	}
	return []byte(events.HideSecrets(string(body), s.cfg.Secrets))
}

// posted is an alert in the format of POST /api/v2/alerts.
type posted struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// openFor is how long an Alertmanager keeps an alert that it is not told of again; the host says when it is over.
const openFor = 30 * 24 * time.Hour

// forAlertmanager is an alert in that format. Its labels stay the same until it is over, as Alertmanager knows it by
// these; so the severity, which may change, is an annotation as well as the label of its kind.
func forAlertmanager(a health.Alert) posted {
	p := posted{
		Labels: map[string]string{
			"alertname": string(a.Kind), "host": a.Host, "job": "hostnode", "severity": health.SeverityOf(a.Kind),
		},
		Annotations: map[string]string{"summary": a.Text, "severity": a.Severity},
		StartsAt:    a.At, EndsAt: a.At.Add(openFor),
	}
	for name, value := range map[string]string{"member": a.Member, "subject": a.Subject} {
		if value != "" {
			p.Labels[name] = value
		}
	}
	for name, value := range map[string]string{"hint": a.Hint, "reason": a.Reason} {
		if value != "" {
			p.Annotations[name] = value
		}
	}
	if !a.Cleared.IsZero() {
		p.EndsAt = a.Cleared
	}
	return p
}
