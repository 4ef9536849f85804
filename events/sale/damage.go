package sale

import (
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// MaxDamagedBlocks is how many damaged blocks a sale lists by index. With more than
// that, all blocks are checked.
const MaxDamagedBlocks = 256

func decideDamaged(s State, c ReportDamaged) []Event {
	if !s.KeepsData() {
		return nil
	}
	blocks := uint64(s.Request.Ask.SlotSize / events.BlockSize)
	fresh := slices.DeleteFunc(sorted(c.Blocks), func(b uint64) bool {
		return b >= blocks || slices.Contains(s.Damage.Blocks, b)
	})
	whole := c.Whole
	if len(s.Damage.Blocks)+len(fresh) > MaxDamagedBlocks {
		fresh, whole = nil, true
	}
	whole = whole && !s.Damage.Whole
	if len(fresh) == 0 && !whole {
		return nil
	}
	return []Event{&messages.SlotDamaged{Blocks: fresh, Whole: whole, FoundBy: text(c.FoundBy)}}
}

func decideRepaired(s State, c ReportRepaired) []Event {
	mended := slices.DeleteFunc(sorted(c.Blocks), func(b uint64) bool { return !slices.Contains(s.Damage.Blocks, b) })
	whole := c.Whole && s.Damage.Whole
	if !s.KeepsData() || len(mended) == 0 && !whole {
		return nil
	}
	return []Event{&messages.SlotRepaired{Blocks: mended, Whole: whole}}
}

// sorted is a copy in ascending order, each block once.
func sorted(blocks []uint64) []uint64 { return slices.Compact(slices.Sorted(slices.Values(blocks))) }

func (d Damage) found(e *messages.SlotDamaged) Damage {
	if !d.Any() {
		d.Since = events.TimeFromMessage(e.GetAt())
	}
	if len(e.GetBlocks()) > 0 {
		d.Blocks = sorted(slices.Concat(d.Blocks, e.GetBlocks())) // States share their slices.
	}
	d.Whole, d.FoundBy = d.Whole || e.GetWhole(), e.GetFoundBy()
	d.Found++
	return d
}

func (d Damage) repaired(e *messages.SlotRepaired) Damage {
	d.Whole = d.Whole && !e.GetWhole()
	left := slices.DeleteFunc(slices.Clone(d.Blocks), func(b uint64) bool { return slices.Contains(e.GetBlocks(), b) })
	if d.Blocks = left; len(left) == 0 {
		d.Blocks = nil
	}
	if !d.Any() {
		return Damage{Found: d.Found}
	}
	return d
}
