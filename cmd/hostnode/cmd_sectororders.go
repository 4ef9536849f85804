package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections"
)

// sectorOrders are the commands that change sectors. They need a running host.
func (a *app) sectorOrders() []*cobra.Command {
	return []*cobra.Command{
		a.sectorsAddPiece(), a.sectorsPieces(), a.sectorsRemovePiece(),
		a.sectorsOrder(ordering{
			use: "drop-piece N CID", short: "Leave out a piece that cannot be added to a sector, or packed",
			verb: api.VerbDropPiece,
		}),
		a.sectorsOrder(ordering{
			use: "seal N", short: "Add no more pieces: pack the sector and seal it", verb: api.VerbPack,
		}),
		a.sectorsOrder(ordering{
			use: "retry N", short: "Resume a parked sector, or end the pause of a paused one", verb: api.VerbRetry,
		}),
		a.sectorsOrder(ordering{
			use: "force N STATE", short: "Put a sector into a state, whatever state it is in", verb: api.VerbForce,
			warning: "Nothing is checked first: the sector continues from that state, with its recorded data and " +
				"whatever the contract has of it.",
		}),
		a.sectorsOrder(ordering{
			use: "terminate N", short: "End a sector on chain before it expires", verb: api.VerbTerminate,
			warning: "The contract keeps a part of the deposit; then the data is removed. This cannot be undone.",
		}),
		a.sectorsOrder(ordering{
			use: "remove N", short: "Remove the data of a sector, and release its space and deposit",
			verb: api.VerbRemove,
			warning: "Its data is removed at once. If the sector is on the contract, its missing proofs cost the " +
				"deposit, so terminate it first. This cannot be undone.",
		}),
	}
}

// placed is what add-piece answers.
type placed struct {
	Piece api.Piece `json:"piece"`
	api.Sector
}

func (a *app) sectorsAddPiece() *cobra.Command {
	var number uint64
	var size, by string
	cmd := &cobra.Command{
		Use: "add-piece FILE", Short: "Import a file as a piece, and add it to a sector", Args: cobra.ExactArgs(1),
		Long: "Import a file as a piece, and add it to the first sector that still takes pieces and has " +
			"room for it.\n" +
			"If there is none, a new sector is begun. A full sector is sealed automatically; to seal one that is\n" +
			"not full, use hostnode sectors seal N. The host keeps a copy of the file to repair a damaged sector.",
	}
	cmd.RunE = cli.Asking(a.App, cli.Look, func(ctx context.Context, b api.Backend, args []string) (placed, error) {
		path, err := filepath.Abs(args[0])
		if err != nil {
			return placed{}, fmt.Errorf("find the file: %w", err)
		}
		var padded events.Bytes
		if size != "" {
			if padded, err = cli.ParseSize(size); err != nil {
				return placed{}, fmt.Errorf("%w: --size: %w", cli.ErrUsage, err)
			}
		}
		piece, err := api.ImportPiece.Ask(ctx, b, api.Send(api.OfFile{Path: path}))
		if err != nil {
			return placed{}, err
		}
		var s api.Sector
		if cmd.Flags().Changed("sector") {
			s, err = orderSector(ctx, b, number, api.VerbAddPiece, api.SectorOrder{Piece: &piece, By: by})
		} else {
			s, err = api.PlacePiece.Ask(ctx, b, api.Send(api.Placing{Piece: piece, Size: padded, By: by}))
		}
		return placed{piece, s}, err
	}, printPlaced)
	cmd.Flags().Uint64Var(&number, "sector", 0, "add the piece to this `sector`")
	cmd.Flags().StringVar(&size, "size", "", "use only sectors of this `size`, such as 64MiB (default: any; a new one "+
		"has sectors.size)")
	cmd.MarkFlagsMutuallyExclusive("sector", "size")
	cli.WithBy(cmd, &by)
	return cmd
}

func printPlaced(p *cli.Printer, answer placed) error {
	p.Line("piece %s, %s with %s bytes of data", answer.Piece.CID, cli.Size(answer.Piece.Size),
		money.Grouped(strconv.FormatUint(uint64(answer.Piece.Payload), 10)))
	p.Line("is added to sector %d of %s, which is in state %s",
		answer.Sector.Sector.SectorNumber, cli.Size(answer.Sector.Sector.Size), answer.Sector.Sector.State)
	p.Line("  if this was the last piece: hostnode sectors seal %d", answer.Sector.Sector.SectorNumber)
	return p.End(answer.AsOf)
}

// ordering is a command that changes one sector. One with a warning requires a reason, and asks for
// confirmation.
type ordering struct {
	use, short, warning string
	verb                api.Verb
}

func (a *app) sectorsOrder(o ordering) *cobra.Command {
	var order api.SectorOrder
	var yes bool
	var states []string
	cmd := &cobra.Command{Use: o.use, Short: o.short}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(states) > 0 {
			return cobra.NoArgs(cmd, args)
		}
		return cobra.ExactArgs(strings.Count(o.use, " "))(cmd, args)
	}
	cmd.RunE = cli.Asking(a.App, cli.Look, func(ctx context.Context, b api.Backend, args []string) (ordered, error) {
		if len(states) > 0 {
			return orderAll(ctx, b, states, o.verb, order)
		}
		n, err := sectorNumber(args[0])
		if err != nil {
			return ordered{}, err
		}
		if len(args) > 1 && o.verb == api.VerbDropPiece {
			order.CID = args[1]
		} else if len(args) > 1 {
			order.State = args[1]
		}
		if o.warning != "" && !yes && !order.DryRun {
			if err := a.agreeOn(ctx, b, n, o, order.State); err != nil {
				return ordered{}, err
			}
		}
		s, err := orderSector(ctx, b, n, o.verb, order)
		return ordered{all: []api.Sector{s}}, err
	}, printOrdered)
	cli.WithBy(cmd, &order.By)
	if o.verb == api.VerbForce {
		cmd.Flags().BoolVar(&order.DryRun, "dry-run", false, "say what would follow, and change nothing")
	}
	if o.warning == "" && strings.Count(o.use, " ") == 1 {
		cmd.Flags().StringSliceVar(&states, "state", nil, "order it of all sectors in these `states`, instead of N")
	}
	if o.warning != "" {
		cmd.Long = o.short + ".\n" + o.warning + "\nWho ordered it and why is recorded."
		cmd.Flags().StringVar(&order.Reason, "reason", "", "the `reason`; it is recorded")
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
		_ = cmd.MarkFlagRequired("reason") // There is such a flag.
	}
	return cmd
}

func orderSector(
	ctx context.Context, b api.Backend, number uint64, verb api.Verb, order api.SectorOrder,
) (api.Sector, error) {
	return api.OrderSector(verb).Ask(ctx, b, api.OrderOf{Number: number, Body: order})
}

// losesDeposit says that a sector that the contract has would be left alone by an order; empty: it would not.
func losesDeposit(s projections.Sector, verb api.Verb, state string) string {
	leads := verb == api.VerbRemove || verb == api.VerbForce && sector.State(state).Unattended()
	if !s.OnChain || !leads {
		return ""
	}
	return fmt.Sprintf("The contract has this sector, and nobody would prove it then: it loses a part of its deposit "+
		"of %s with each window. To end it: hostnode sectors terminate %d", money.Base(s.Deposit), s.SectorNumber)
}

// agreeOn shows the state of a sector, and has the operator type its number.
func (a *app) agreeOn(ctx context.Context, b api.Backend, number uint64, o ordering, state string) error {
	s, err := api.ShowSector.Ask(ctx, b, api.OfSector{Number: number})
	if err != nil {
		return err
	}
	if f, ok := a.Stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return fmt.Errorf("%w: there is no terminal to ask on; confirm with --yes", problem.ErrNotAgreed)
	}
	of := s.Sector
	question := a.NewPrinter()
	question.Line("sector %d is in state %s since %s, with %s and %s at stake", number, of.State,
		cli.Clock(of.Since), cli.Count(len(of.Pieces)+len(of.Pending), "piece"), money.Base(of.Deposit))
	question.Line("%s: %s", o.verb, o.warning)
	if warns := losesDeposit(of, o.verb, state); warns != "" {
		question.Line("%s", warns)
	}
	if _, err := fmt.Fprintf(a.Stderr, "%sType %d to confirm: ", question.Text(), number); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	agreed, err := a.Types(ctx, strconv.FormatUint(number, 10))
	if err == nil && !agreed {
		err = fmt.Errorf("%w: the answer was not %d", problem.ErrNotAgreed, number)
	}
	return err
}

// ordered are sectors after an order: the one that it was given to, or all in some states.
type ordered struct {
	all     []api.Sector
	several bool
	refused []string
}

// MarshalJSON is the sector, or a list.
func (o ordered) MarshalJSON() ([]byte, error) {
	if !o.several && len(o.all) == 1 {
		return json.Marshal(o.all[0])
	}
	return json.Marshal(struct {
		Sectors []api.Sector `json:"sectors"`
		Refused []string     `json:"refused,omitempty"`
	}{o.all, o.refused})
}

// orderAll gives an order to all sectors in some states. One that refuses it keeps no other from it.
func orderAll(
	ctx context.Context, b api.Backend, states []string, verb api.Verb, order api.SectorOrder,
) (ordered, error) {
	out := ordered{several: true, all: []api.Sector{}}
	if err := knownStates(states); err != nil {
		return out, err
	}
	there, err := api.ListSectors.Ask(ctx, b, api.Then{})
	if err != nil {
		return out, err
	}
	for _, one := range there.Provider.Sectors {
		if !slices.Contains(states, one.State) {
			continue
		}
		s, err := orderSector(ctx, b, one.SectorNumber, verb, order)
		if err != nil {
			out.refused = append(out.refused, fmt.Sprintf("sector %d: %v", one.SectorNumber, err))
			continue
		}
		out.all = append(out.all, s)
	}
	if len(out.all) == 0 && len(out.refused) > 0 {
		return out, fmt.Errorf("%w: no sector took it; %s", problem.ErrBadRequest, out.refused[0])
	}
	return out, nil
}

func printOrdered(p *cli.Printer, answer ordered) error {
	if len(answer.all) == 0 {
		p.Line("no sector is in such a state")
	}
	for _, one := range answer.all {
		s := one.Sector
		if len(one.Would) > 0 {
			p.Line("sector %d stays in state %s; what would follow: %s",
				s.SectorNumber, s.State, strings.Join(one.Would, "; "))
			continue
		}
		p.Line("sector %d is in state %s; it waits for %s", s.SectorNumber, s.State, sectorWaits(s))
	}
	for _, why := range answer.refused {
		p.Line("refused: %s", why)
	}
	if len(answer.all) > 0 {
		p.AsOf(answer.all[0].AsOf)
	}
	return nil
}

func (a *app) sectorsFaults() *cobra.Command {
	return cli.AsAt(a.App, &cobra.Command{
		Use: "faults", Short: "List the sectors that are faulty and have not recovered", Args: cobra.NoArgs,
	}, cli.Plain(api.ListFaults), printFaults)
}

func printFaults(p *cli.Printer, f api.SectorFaults) error {
	if len(f.Faults) == 0 {
		return p.None("no sector is faulty", f.AsOf)
	}
	rows := [][]string{{"SECTOR", "STATE", "FAULTY SINCE", "AT STAKE", "LOST", "NEXT", "FOUND BY"}}
	for _, one := range f.Faults {
		rows = append(rows, []string{
			fmt.Sprint(one.SectorNumber), one.State, cli.Clock(one.Since), money.Base(one.Deposit),
			money.Base(one.DepositLost), one.Next, one.Reason,
		})
	}
	p.Rows(rows)
	p.Line("each proving period with a fault costs a part of the deposit")
	return p.End(f.AsOf)
}
