package health

import "fmt"

// The causes that have to do with sectors.

// noSealer: a sealer whose proofs the contract does not take is refused at the start.
func noSealer(f Facts) (reason, hint string) {
	return when(f.NoSealer && f.SectorsAtStake > 0,
		fmt.Sprintf("sectors with a deposit at stake: %d, and this host has no sealer, so nobody proves them",
			f.SectorsAtStake),
		"set sectors.sealer to what it was, and start again: they lose of their deposit with each window that is not "+
			"proven")
}

// sectorsDiskAway: the files of sectors went away while they were in use.
func sectorsDiskAway(f Facts) (reason, hint string) {
	return when(f.Disk.SectorsAway != "",
		"the files of sectors cannot be read: "+f.Disk.SectorsAway,
		"mount the disk with the sectors again: work goes on by itself, and nothing is written meanwhile")
}

// sectorsStuck: sectors that are not proven, or that need an operator before they can be.
func sectorsStuck(f Facts) (reason, hint string) {
	if len(f.Sectors) == 0 {
		return "", ""
	}
	first := f.Sectors[0]
	reason = fmt.Sprintf("sector %d %s", first.Number, first.Reason)
	if more := len(f.Sectors) - 1; more > 0 {
		reason += fmt.Sprintf("; sectors in trouble beside it: %d", more)
	}
	return reason, fmt.Sprintf("look at it with `%s`, and at all with `%s`",
		f.command(fmt.Sprintf("sectors status %d", first.Number)), f.command("sectors list"))
}
