package devchain

// Pending is the number of transactions that could go into the next block.
func (c *Chain) Pending() int {
	pending, _ := c.eth.TxPool().Stats()
	return pending
}
