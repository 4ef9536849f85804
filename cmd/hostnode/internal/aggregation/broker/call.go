package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// ask sends a request about an offer once, and reads what the broker says. A request that was given up is no fault of
// the broker.
func (b *Broker) ask(ctx context.Context, method string, offer events.AggregateOffer, body any) (answer, error) {
	a, err := b.once(ctx, method, offer, body)
	if err == nil {
		return a, nil
	}
	return answer{}, b.tell(offer.Aggregate, cmp.Or(context.Cause(ctx), err))
}

// tell says in an error which broker it is about, and shows no secret.
func (b *Broker) tell(aggregate string, err error) error {
	return fmt.Errorf("broker %s, aggregate %s: %w", b.name, clip(aggregate), events.WithoutSecrets(err, b.secrets))
}

func away(err error) error { return fmt.Errorf("%w: %w", events.ErrBrokerAway, err) }

// noBroker is an answer that says nothing about a deal, because this host or its settings are not right for it.
func noBroker(format string, values ...any) error {
	return fmt.Errorf("%s: %w: %w", fmt.Sprintf(format, values...), events.ErrNoBroker, events.ErrBrokerAway)
}

func lie(format string, values ...any) error {
	return fmt.Errorf("%w: %s", events.ErrBrokerLies, fmt.Sprintf(format, values...))
}

// clip shortens text from outside.
func clip(text string) string {
	const most = 300
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

func (b *Broker) once(ctx context.Context, method string, offer events.AggregateOffer, body any) (a answer, err error) {
	if _, err := commd.ParseCID(offer.Aggregate); err != nil {
		return a, fmt.Errorf("%w: %w", err, events.ErrMalformed)
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	at := b.url.JoinPath("aggregates", offer.Aggregate)
	if method == http.MethodPost {
		at = at.JoinPath("signature")
	}
	var sent io.Reader
	if body != nil {
		encoded, _ := json.Marshal(body) // All bodies are texts and numbers.
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, at.String(), sent)
	if err != nil {
		return a, err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + b.cfg.Token}, "Content-Type": {"application/json"}}
	response, err := b.client.Do(request)
	if err != nil {
		return a, away(err)
	}
	defer response.Body.Close()
	if over, err := judge(method, response); over || err != nil {
		return a, err
	}
	a, err = decode(http.MaxBytesReader(nil, response.Body, b.cfg.MaxAnswer), offer.Pieces)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return a, lie("an answer of more than %d bytes", tooLarge.Limit)
	}
	return a, cmp.Or(err, a.check(offer))
}

// judge says what the status of an answer means: that all is said, that the body has to be read, or an error.
func judge(method string, response *http.Response) (over bool, err error) {
	withdrawing := method == http.MethodDelete
	switch code := response.StatusCode; {
	case code == http.StatusOK || withdrawing && code == http.StatusNoContent:
		return withdrawing, nil
	case code == http.StatusNotFound && withdrawing:
		return true, nil
	case code == http.StatusNotFound && method != http.MethodPut:
		return false, fmt.Errorf("it answered %s: %w", response.Status, events.ErrNotOffered)
	case code == http.StatusConflict && withdrawing:
		return false, fmt.Errorf("it answered %s: %w", response.Status, events.ErrDealOver)
	case code >= http.StatusInternalServerError, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return false, away(fmt.Errorf("it answered %s", response.Status))
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return false, noBroker("it answered %s: it does not take the token; set the one that it gave this host",
			response.Status)
	case code == http.StatusNotFound || code/100 == 3:
		return false, noBroker("it answered %s: this is no broker, or its URL is another one; correct the URL",
			response.Status)
	default:
		said, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // What there is of it.
		return false, noBroker("it answered %s: %q", response.Status, said)
	}
}
