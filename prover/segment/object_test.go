package segment

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/commd"
)

func TestAnObjectIsReadFromAnyByte(t *testing.T) {
	var pool []content
	for i := range 12 {
		pool = append(pool, contentOf(t, 65+i*i*97, uint64(i)))
	}
	rapid.Check(t, func(t *rapid.T) {
		size := uint64(1) << rapid.IntRange(17, 20).Draw(t, "size")
		count := rapid.IntRange(0, int(Entries(size))).Draw(t, "count")
		contents := rapid.Permutation(pool).Draw(t, "contents")[:count]
		pieces, open := list(contents)
		a, err := Build(size, pieces)
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewObject(size, pieces, open)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(o)
		calc := commd.NewCalc()
		_, _ = calc.Write(whole)
		if c, calcErr := calc.Commitment(); err != nil || calcErr != nil || c.Root != a.Root() || c.Size != size {
			t.Fatalf("%d bytes are %+v, %v, %v; want %x", len(whole), c, calcErr, err, a.Root())
		}
		for range 20 {
			from := rapid.IntRange(0, len(whole)).Draw(t, "from")
			part := make([]byte, rapid.IntRange(0, min(5000, len(whole)-from)).Draw(t, "length"))
			if at, err := o.Seek(int64(from), io.SeekStart); err != nil || at != int64(from) {
				t.Fatal(at, err)
			}
			if _, err := io.ReadFull(o, part); err != nil || !bytes.Equal(part, whole[from:from+len(part)]) {
				t.Fatalf("%d bytes from %d differ: %v", len(part), from, err)
			}
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func objectOf(t *testing.T, open func(i int, offset uint64) (io.ReadCloser, error)) (o *Object, payload []byte) {
	t.Helper()
	c := contentOf(t, 1000, 1)
	o, err := NewObject(mib, []Piece{c.Piece}, open)
	if err != nil {
		t.Fatal(err)
	}
	return o, c.payload
}

func TestAnObjectPassesTheUsualTestsOfReaders(t *testing.T) {
	c := contentOf(t, 1000, 1)
	pieces, open := list([]content{c, contentOf(t, 127, 2)})
	o, err := NewObject(32*kib, pieces, open)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(o, whole); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhatIsReadIsOpened(t *testing.T) {
	var opened []int
	pieces, open := list([]content{contentOf(t, 4000, 1), contentOf(t, 1000, 2), contentOf(t, 127, 3)})
	o, err := NewObject(mib, pieces, func(i int, offset uint64) (io.ReadCloser, error) {
		opened = append(opened, i, int(offset))
		return open(i, offset)
	})
	if err != nil {
		t.Fatal(err)
	}
	// The second piece begins at 4096, which are 4064 bytes.
	for _, from := range []int64{4064 + 10, 4064 + 20, 4064 + 500, 4064 + 1000, 20_000, 1_040_383} {
		if _, err := o.Seek(from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(o, make([]byte, 1)); err != nil {
			t.Fatal(from, err)
		}
		if from == 4064+10 { // Then it goes on where it is, without opening it again.
			if _, err := io.ReadFull(o, make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []int{1, 10, 1, 500}
	if len(opened) != len(want) || opened[0] != 1 || opened[1] != 10 || opened[2] != 1 || opened[3] != 500 {
		t.Errorf("opened %v, want %v", opened, want)
	}
}

// closing tells whether it was closed.
type closing struct {
	io.Reader

	closed *bool
}

func (c closing) Close() error {
	*c.closed = true
	return nil
}

func TestAPayloadOfAnotherLengthIsAnError(t *testing.T) {
	broken := errors.New("broken")
	_, payload := objectOf(t, nil)
	for name, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"too short":      {bytes.NewReader(payload[:999]), ErrPayload},
		"nothing":        {bytes.NewReader(nil), ErrPayload},
		"too long":       {bytes.NewReader(append(bytes.Clone(payload), 0)), ErrPayload},
		"an error":       {io.MultiReader(bytes.NewReader(payload[:10]), iotest.ErrReader(broken)), broken},
		"an error later": {io.MultiReader(bytes.NewReader(payload), iotest.ErrReader(broken)), broken},
		"right":          {bytes.NewReader(payload), nil},
		"byte for byte":  {iotest.OneByteReader(bytes.NewReader(payload)), nil},
		"with its end":   {iotest.DataErrReader(bytes.NewReader(payload)), nil},
	} {
		closed := false
		o, _ := objectOf(t, func(int, uint64) (io.ReadCloser, error) { return closing{c.r, &closed}, nil })
		n, err := io.Copy(io.Discard, o)
		if !errors.Is(err, c.want) || err == nil && n != 1_040_384 || !closed {
			t.Errorf("%s: %d bytes, %v, closed %v", name, n, err, closed)
		}
	}
	o, _ := objectOf(t, func(int, uint64) (io.ReadCloser, error) { return nil, broken })
	if _, err := o.Read(make([]byte, 1)); !errors.Is(err, broken) {
		t.Errorf("a payload that cannot be opened: %v", err)
	}
}

func TestAPayloadThatIsStillOpenIsClosed(t *testing.T) {
	closed := false
	_, payload := objectOf(t, nil)
	o, _ := objectOf(t, func(int, uint64) (io.ReadCloser, error) { return closing{bytes.NewReader(payload), &closed}, nil })
	if _, err := o.Read(make([]byte, 1)); err != nil || closed {
		t.Fatal(err, closed)
	}
	if err := o.Close(); err != nil || !closed {
		t.Fatal(err, closed)
	}
}

func TestAPayloadThatAPieceCannotHave(t *testing.T) {
	for _, payload := range []uint64{0, 64, 128, 1 << 40} {
		_, err := NewObject(mib, []Piece{{Root: rootOf(1), Size: 128, Payload: payload}}, nil)
		if !errors.Is(err, ErrPiece) {
			t.Errorf("%d bytes: %v", payload, err)
		}
	}
}

func TestSeekingInAnObject(t *testing.T) {
	o, _ := objectOf(t, nil)
	for _, c := range []struct {
		offset int64
		whence int
		want   int64
	}{
		{0, io.SeekEnd, 1_040_384},
		{-10, io.SeekCurrent, 1_040_374},
		{5, io.SeekStart, 5},
		{10, io.SeekEnd, 1_040_394},
	} {
		if at, err := o.Seek(c.offset, c.whence); at != c.want || err != nil {
			t.Errorf("%d, %d: %d, %v", c.offset, c.whence, at, err)
		}
	}
	if n, err := o.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	for _, whence := range []int{io.SeekStart, io.SeekEnd, 3} {
		if at, err := o.Seek(-1<<40, whence); err == nil {
			t.Errorf("before the beginning: %d", at)
		}
	}
}
