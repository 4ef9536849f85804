package devchain

// Pending is how many transactions could go into the next block.
func (c *Chain) Pending() int {
	pending, _ := c.eth.TxPool().Stats()
	return pending
}
