package sectors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events/sector"
)

// haveFiles are the sectors of the record that have written data, in order. One whose removal was
// begun may have none, also when it was forced into another state since.
func haveFiles(all map[uint64]*past) (numbers []uint64) {
	for _, n := range slices.Sorted(maps.Keys(all)) {
		st := all[n].State
		if st.State == sector.Removing || st.State == sector.RemoveFailed || st.State == sector.Removed || !st.Opened ||
			st.Released || st.Attempts.Of(sector.StepRemove) > 0 {
			continue
		}
		if slices.ContainsFunc(st.Pieces, func(p sector.Piece) bool { return p.Payload > 0 }) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// mounted returns an error when the disk with the files is away, or when sectors have data by the record, and not
// one of them has its files: the disk is not mounted, or the settings name another directory. Nothing may be done
// then: all sectors would be reported faulty, and their pieces written to the wrong disk.
func (r *room) mounted(all map[uint64]*past) error {
	if r.FilesElsewhere {
		return nil
	}
	if err := r.Files.Here(); err != nil {
		return fmt.Errorf("%w: mount it, or correct sectors.directory and start the host again; if it is lost for "+
			"good, set sectors.filesLost", err)
	}
	numbers := haveFiles(all)
	if len(numbers) == 0 || r.FilesLost {
		return nil
	}
	for _, ref := range r.Files.Sectors() {
		if ref.Provider == r.Me && slices.Contains(numbers, ref.Number) {
			return nil
		}
	}
	const most = 5
	return fmt.Errorf("the record has %d sectors with data (the first are %v), and no file of them is there: "+
		"mount their disk, or correct sectors.directory, and start the host again; "+
		"if they are lost, set sectors.filesLost",
		len(numbers), numbers[:min(len(numbers), most)])
}

// afterFiles is the first number after those of sectors with files. One of them that is not in the record is named: the
// record is older than the files, as with a restored backup, and nobody proves it.
func (r *room) afterFiles(all map[uint64]*past) (next uint64) {
	for _, ref := range r.Files.Sectors() {
		if ref.Provider != r.Me {
			continue
		}
		next = max(next, ref.Number+1)
		if _, known := all[ref.Number]; !known {
			r.Log.WithField("sector", ref.Number).Error("there are files of the sector, but it is not in " +
				"the record: if the contract has it, it is not proven, and loses its deposit; restore " +
				"a newer record, or remove its files")
		}
	}
	return next
}
