package dataset

// Group lists the indices of one of the groups into which first..last is cut
// (spec/proofs.md §11.4). It is empty for a group that does not exist.
func (s Strategy) Group(first, last, groups, group uint64) []uint64 {
	if groups == 0 || group >= groups || last < first {
		return nil
	}
	var indices []uint64
	switch s {
	case Linear:
		width := (last - first + groups) / groups
		for i := first + group*width; i <= min(first+(group+1)*width-1, last); i++ {
			indices = append(indices, i)
		}
	case Stepped:
		for i := first + group; i <= last; i += groups {
			indices = append(indices, i)
		}
	}
	return indices
}
