package health

// CauseCodes returns the codes of all causes, in the order of the table.
func CauseCodes() []string {
	var codes []string
	for _, row := range causes {
		codes = append(codes, row.code)
	}
	return codes
}
