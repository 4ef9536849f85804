package replay

// Get is the value of a fact, empty when there is none.
func (f Facts) Get(name string) string {
	for _, fact := range f {
		if fact.Name == name {
			return fact.Value
		}
	}
	return ""
}
