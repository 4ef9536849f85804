package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// State describes a machine in words and numbers, the most important first: ids
// as 0x-hex, amounts and sizes as decimals (token base units, wei, bytes), times
// as RFC 3339.
type State struct {
	Facts Facts  `json:"facts"`
	Lists []List `json:"lists,omitempty"`
}

// Facts are names and values, ordered for people. In JSON they are an object.
type Facts []Fact

// Fact is one of them.
type Fact struct{ Name, Value string }

// List is a table of facts: all rows have the same names.
type List struct {
	Name string  `json:"name"`
	Rows []Facts `json:"rows"`
	// More is how many rows were left out.
	More int `json:"more,omitempty"`
}

// maxRows is the most rows of a list: a queue may have a hundred thousand slots.
const maxRows = 1_000

// add appends a fact, unless its value is empty.
func (f *Facts) add(name, value string) {
	if value != "" {
		*f = append(*f, Fact{name, value})
	}
}

// MarshalJSON implements json.Marshaler: an object, in order.
func (f Facts) MarshalJSON() ([]byte, error) {
	pairs := make([]string, len(f))
	for i, fact := range f {
		name, _ := json.Marshal(fact.Name) // All texts have a JSON form.
		value, _ := json.Marshal(fact.Value)
		pairs[i] = fmt.Sprintf("%s:%s", name, value)
	}
	return []byte("{" + strings.Join(pairs, ",") + "}"), nil
}

// UnmarshalJSON implements json.Unmarshaler: the reverse.
func (f *Facts) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("facts are an object, not %.40q", text)
	}
	*f = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		value, err := d.Token()
		if err != nil {
			return err
		}
		of, is := value.(string)
		if !is {
			return fmt.Errorf("the value of %v is no text", name)
		}
		*f = append(*f, Fact{name.(string), of})
	}
	return nil
}
