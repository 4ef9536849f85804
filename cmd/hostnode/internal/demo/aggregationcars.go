package demo

import (
	"bytes"
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/storage/car"
	"github.com/hostnode/hostnode/storage/car/cartest"
)

// carFile is a CAR of the client, as it is submitted.
type carFile struct {
	aggregation.NewContent
	name string
	code car.Code         // with which it is refused; empty: it is good
	is   commd.Commitment // what a good one makes
	twin *carFile         // the same CAR from another place
}

// The good CARs, in the order in which they are submitted: the first fullCars fill an aggregate, and some are bad
// in the eyes of the broker. The last CAR of all is the first one once more.
const (
	manyCars = 60
	fullCars = 8
	// The broker names namedBad, and because of unnamedBad it silently rejects what has it.
	unnamedBad = fullCars
)

var namedBad = []int{2, 5}

// makeCars writes the CARs, which are the same every time.
func (s *aggregationDemo) makeCars(context.Context, string) (none events.Amount, err error) {
	s.roots = filepath.Join(s.dir.Root, "client", "cars")
	if err := os.MkdirAll(s.roots, 0o700); err != nil {
		return none, err
	}
	rng := mathrand.New(mathrand.NewPCG(madeSeed, madeSeed)) //nolint:gosec // They need not be secret.
	kinds := cartest.Kinds()
	for i := range manyCars - len(kinds) - 1 {
		piece := uint64(aggregateSize) >> (3 + rng.IntN(3))
		if i <= unnamedBad {
			piece = aggregateSize >> 4 // So many as fit are in the first one.
		}
		data := cartest.Random(rng, int(commd.PayloadRoom(piece))-rng.IntN(1000)) //nolint:gosec // Small.
		calc := commd.NewCalc()
		_, _ = calc.Write(data) // It is not too long.
		is, err := calc.Commitment()
		if err == nil {
			err = s.addCar(carFile{is: is}, data, cartest.Of(data))
		}
		if err != nil {
			return none, err
		}
	}
	for _, kind := range kinds {
		bad := cartest.Bad(kind)
		if kind == string(car.TooLarge) { // For this host.
			bad.Data = cartest.Random(rng, aggregateSize*3/4)
			bad.Want = cartest.Of(bad.Data)
		}
		if err := s.addCar(carFile{code: bad.Code}, bad.Data, bad.Want); err != nil {
			return none, err
		}
	}
	first := s.cars[0]
	data, err := os.ReadFile(first.Key)
	if err == nil {
		err = s.addCar(carFile{is: first.is, twin: first}, data, cartest.Of(data))
	}
	s.display.say("Client: made %d CARs, of which %d are bad, one of each kind; they are in %s", len(s.cars),
		len(kinds), s.roots)
	return none, err
}

// addCar writes a CAR. In all that is said its name stands for its CID and for that of its piece.
func (s *aggregationDemo) addCar(c carFile, data []byte, want events.ContentClaim) error {
	c.name = strconv.Itoa(len(s.cars) + 1)
	c.Key, c.Link, c.Size = filepath.Join(s.roots, c.name+".car"), want.Link.String(), want.Size
	s.cars = append(s.cars, &c)
	if c.twin == nil {
		s.names = append(s.names, c.Link, c.name)
		if c.code == "" {
			s.names = append(s.names, commd.CID(c.is.Root), c.name)
		}
	}
	return write(c.Key, bytes.NewReader(data))
}

// good are the CARs of which each makes a piece that no broker minds.
func (s *aggregationDemo) good() (all []*carFile) {
	for i, c := range s.cars {
		if c.code == "" && c.twin == nil && i != unnamedBad && !slices.Contains(namedBad, i) {
			all = append(all, c)
		}
	}
	return all
}

func (s *aggregationDemo) pieceOf(i int) string { return commd.CID(s.cars[i].is.Root) }

// submit has CARs stored. One that cannot be any is refused at once.
func (s *aggregationDemo) submit(ctx context.Context, cars []*carFile) error {
	for _, c := range cars {
		operator := s.hosts[0].operator
		var answer aggregation.Content
		var err error
		if c.code == car.PieceDiffers { // It is said to be another piece.
			answer, err = within(ctx, operator, aggregation.PostPiece, api.Send(aggregation.NewPiece{
				Piece: s.pieceOf(0), Size: aggregateSize >> 4, Payload: c.Size, Content: c.Link,
				Sources: []events.ContentSource{c.ContentSource},
			}))
		} else {
			answer, err = within(ctx, operator, aggregation.PostContent, api.Send(c.NewContent))
		}
		switch {
		case err != nil && c.code == car.Empty:
			s.atOnce++
			s.display.say("Host: CAR %s is refused at once: %s", c.name,
				strings.TrimPrefix(err.Error(), problem.ErrDemoRefused.Error()+": "))
		case err != nil:
			return fmt.Errorf("submit %s: %w", c.Key, err)
		case c.twin != nil:
			s.display.say("Host: CAR %s is CAR %s from another place, which is %s: the answer is the same", c.name,
				c.twin.name, answer.Status)
		}
	}
	return nil
}
