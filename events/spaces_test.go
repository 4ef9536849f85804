package events

import "testing"

func TestTheBytesOfAnEventDoNotDependOnTheBuild(t *testing.T) {
	const want = `{"a":"x, \"y\": z","b":["1","2"],"c":{}}`
	for _, by := range []string{
		want,
		`{"a":"x, \"y\": z", "b":["1", "2"], "c":{}}`,
		`{"a": "x, \"y\": z", "b": ["1", "2"], "c": {}}`,
	} {
		if got, err := withoutSpaces([]byte(by)); err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v", by, got, err)
		}
	}
}
