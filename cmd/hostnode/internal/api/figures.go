package api

import (
	"math"
	"math/big"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// This file says which figures /metrics has. How they are measured is in measure.go.

// Figure is one of the figures of /metrics.
type Figure struct {
	Name, Help string
	Labels     []string
	Kind       FigureKind
}

// FigureKind is what a figure does in the course of time.
type FigureKind string

// The kinds of figures.
const (
	Gauge     FigureKind = "gauge"
	Counter   FigureKind = "counter"
	Histogram FigureKind = "histogram"
)

// Put gives a figure a value, and its labels theirs. No two values of a figure have the same labels.
type Put func(f *Figure, value float64, labels ...string)

// Flag is 1 for yes.
func Flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func figure(name, help string, labels ...string) *Figure { return &Figure{name, help, labels, Gauge} }

func counter(name, help string, labels ...string) *Figure {
	return &Figure{name, help, labels, Counter}
}

func histogram(name, help string, labels ...string) *Figure {
	return &Figure{name, help, labels, Histogram}
}

// What follows from the record: right after a restart, too, and of another process of the same record. Amounts are
// floats, for graphs: they have 15 digits, and the API has all.
var (
	rowsFigure = figure("hostnode_rows", "Rows of a machine's view, by the state in which they are. Of what is over, "+
		"the newest are kept.", "machine", "state")
	oldestFigure = figure("hostnode_oldest_row_timestamp_seconds", "Since when the row has been in its state that has "+
		"longest, by the clock of the machine's events. Only of rows that are not over.", "machine", "state")
	eventsFigure = counter("hostnode_events_total", "Events of a machine in the record, by type: what happened, and "+
		"how often.", "machine", "event")
	staysFigure = histogram("hostnode_state_duration_seconds", "How long sales and sectors were in a state before "+
		"they left it.", "machine", "state")
	proofTimeFigure = histogram("hostnode_proof_duration_seconds", "How long the proofs took to make that the "+
		"contract took.")
	inclusionFigure = histogram("hostnode_transaction_inclusion_seconds", "How long transactions took from the intent "+
		"until they were seen in a block.")
	sentFigure = counter("hostnode_transactions_total", "Transactions that are over, by outcome: succeeded, failed "+
		"(mined and reverted), abandoned.", "outcome")
	proofsFigure = figure("hostnode_proofs", "Proofs of slots that were demanded, by what became of them: open, "+
		"submitted, missed, excused, lapsed.", "outcome")
	owedFigure = figure("hostnode_proofs_late", "Proofs of slots that are owed though their time is over, by the "+
		"chain's time.")
	slackFigure = figure("hostnode_proof_slack_seconds", "Time left, by the chain's time, for the open proof of a "+
		"slot that is due first. Absent: none is open.")
	ledgerFigure = figure("hostnode_ledger_bytes", "How the quota is used. The parts add up to it.", "part")
	atRiskFigure = figure("hostnode_collateral_tokens", "Collateral that the ledger holds for sales, in the market's "+
		"token.")
	queueFigure  = figure("hostnode_queue_slots", "Slots in the queue: waiting, taken.", "state")
	pausedFigure = figure("hostnode_queue_paused", "1 while no slots are taken from the queue.")
	refusedTotal = counter("hostnode_slots_refused_total", "Slots that were not taken into the queue, by the "+
		"criterion that they failed.", "criterion")
	incomeFigure = figure("hostnode_income_tokens", "What was earned and lost in all, in the market's token: rewards, "+
		"repair_rewards, validator_rewards, collateral_lost.", "kind")
	feesFigure   = figure("hostnode_fees_coins", "What mined transactions cost in all, in the chain's coin.")
	monthFigure  = figure("hostnode_month_net_tokens", "Rewards less lost collateral of this month, settled, in UTC.")
	expectFigure = figure("hostnode_month_expected_tokens", "What hosted slots that end this month are still paid, at "+
		"most.")
	monthFees       = figure("hostnode_month_fees_coins", "What transactions that were mined this month cost.")
	positionFigure  = figure("hostnode_record_position", "Position of the last event that the views have seen.")
	lastEventFigure = figure("hostnode_record_last_event_timestamp_seconds", "When that event was written, by the "+
		"clock of the store's machine.")
	skippedFigure = figure("hostnode_views_skipped_events", "Events that the views could not read.")
)

// What only a process knows.
var (
	infoFigure = figure("hostnode_info", "1, with what the process is. The token is the one that amounts are in.",
		"version", "member", "chain", "token")
	startFigure = figure("hostnode_start_timestamp_seconds", "When the host started last.")
	statusUp    = figure("hostnode_status_up", "0: the process could not say how it is, and its other figures are "+
		"absent.")
	readyFigure    = figure("hostnode_ready", "1 while the host runs, and proves what it owes, as /readyz says.")
	sellingFigure  = figure("hostnode_selling", "1 while slots that match are taken. Absent: not known.")
	obstacleFigure = figure("hostnode_obstacles", "What is in the way of selling and proving (severity obstacle), or "+
		"may soon be (warning), by its code.", "code", "severity")
	downFigure       = figure("hostnode_parts_down", "Parts of the host that do not run.")
	quarantineFigure = figure("hostnode_quarantined", "Pieces of work in quarantine.")
	troubleFigure    = figure("hostnode_sales_in_trouble", "Sales that meet an error.")
	balanceFigure    = figure("hostnode_balance_tokens", "The account's balance in the market's token. Absent: the "+
		"chain did not answer.")
	coinsFigure   = figure("hostnode_balance_coins", "The account's balance in the chain's coin, for fees.")
	headFigure    = figure("hostnode_chain_head_block", "The newest block that the host knows.")
	headAgeFigure = figure("hostnode_chain_head_age_seconds", "How old it is by the machine's clock.")
	chainUpFigure = figure("hostnode_chain_up", "1 while an end point of the chain answers, and new blocks come.")
	trafficFigure = counter("hostnode_node_messages_total", "Messages to an end point of the chain.", "endpoint")
	failedFigure  = counter("hostnode_node_failures_total", "Messages to an end point that it did not answer, or "+
		"refused because of a limit, and attempts to connect to it.", "endpoint")
	callsFigure    = counter("hostnode_node_calls_total", "Calls in these messages, by method.", "method")
	storeUpFigure  = figure("hostnode_store_up", "1 while the event store answers.")
	storeFigure    = figure("hostnode_store_read_seconds", "How long the event store took to say where its end is.")
	waitingFigure  = figure("hostnode_store_unanswered_calls", "Calls on the event store that wait for an answer.")
	lagFigure      = figure("hostnode_views_lag_events", "Positions between the end of the event store and the views.")
	diskFigure     = figure("hostnode_disk_free_bytes", "Free space of the file system.")
	keepFigure     = figure("hostnode_disk_keep_bytes", "How much of it must stay free (storage.keepFree).")
	poolFigure     = figure("hostnode_pool_calls", "Calls on the world, by pool: running, waiting.", "pool", "state")
	poolSizeFigure = figure("hostnode_pool_size", "How many calls of a pool may run at once.", "pool")
	ownerFigure    = figure("hostnode_member_owner", "1 on the member that has the term. Absent: the host is one "+
		"process.")
	silentFigure = figure("hostnode_members_silent", "Members that have not stopped, and do not seem to be alive.")
	leaseFigure  = figure("hostnode_member_lease_up", "1 while etcd knows that this member is alive.")
)

// Figures are all of them, with those of further machines.
func Figures(further []Machine) []*Figure {
	all := []*Figure{
		rowsFigure, oldestFigure, eventsFigure, staysFigure, proofTimeFigure, inclusionFigure, sentFigure, proofsFigure,
		owedFigure, slackFigure, ledgerFigure, atRiskFigure, queueFigure, pausedFigure, refusedTotal, incomeFigure,
		feesFigure, monthFigure, expectFigure, monthFees, positionFigure, lastEventFigure, skippedFigure, infoFigure,
		startFigure, statusUp, readyFigure, sellingFigure, obstacleFigure, downFigure, quarantineFigure, troubleFigure,
		balanceFigure, coinsFigure, headFigure, headAgeFigure, chainUpFigure, trafficFigure, failedFigure, callsFigure,
		storeUpFigure, storeFigure, waitingFigure, lagFigure, diskFigure, keepFigure, poolFigure, poolSizeFigure,
		ownerFigure, silentFigure, leaseFigure,
	}
	for _, m := range further {
		all = slices.Concat(all, m.Figures)
	}
	return all
}

func (f *Figure) desc() *prometheus.Desc { return prometheus.NewDesc(f.Name, f.Help, f.Labels, nil) }

// shifted is an amount in units of 10^decimals, as near as a float comes.
func shifted(base *big.Int, decimals uint8) float64 {
	value, _ := new(big.Float).SetInt(base).Float64()
	return value / math.Pow10(int(decimals))
}
