package projections

import "context"

var ctx = context.Background()
