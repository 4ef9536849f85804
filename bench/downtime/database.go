package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// The document's statements, without their mistakes: the table has a key, columns are named, a window is a point in
// time, the bits are 01 for offline and 10 for online, and a fraction is none of integers.
const (
	schema = `
DROP TABLE IF EXISTS audit_windows, nodes;
CREATE TABLE audit_windows (
	node_id BYTEA NOT NULL, window_start TIMESTAMPTZ NOT NULL, results BIT(2) NOT NULL,
	PRIMARY KEY (node_id, window_start));
CREATE TABLE nodes (node_id BYTEA PRIMARY KEY, suspended_at TIMESTAMPTZ, disqualified_at TIMESTAMPTZ);`

	writeAudits = `
INSERT INTO audit_windows (node_id, window_start, results)
SELECT node, to_timestamp(start), bit_or(CASE WHEN online THEN B'10' ELSE B'01' END)
FROM unnest($1::bytea[], $2::bigint[], $3::bool[]) AS audits (node, start, online)
GROUP BY node, start
ON CONFLICT (node_id, window_start) DO UPDATE SET results = audit_windows.results | excluded.results`

	getOffendingNodes = `
SELECT node_id FROM audit_windows
WHERE window_start >= $1 AND window_start < $2
GROUP BY node_id
HAVING (count(*) FILTER (WHERE results = B'01'))::float8 / count(*) > $3 AND count(*) >= $4`

	decide = `
WITH offending AS (SELECT unnest($1::bytea[]) AS node_id),
disqualified AS (
	UPDATE nodes SET disqualified_at = $2, suspended_at = NULL FROM offending
	WHERE nodes.node_id = offending.node_id AND suspended_at <= $3 AND disqualified_at IS NULL RETURNING nodes.node_id),
suspended AS (
	UPDATE nodes SET suspended_at = $2 FROM offending
	WHERE nodes.node_id = offending.node_id AND suspended_at IS NULL AND disqualified_at IS NULL
	RETURNING nodes.node_id),
reinstated AS (
	UPDATE nodes SET suspended_at = NULL
	WHERE suspended_at IS NOT NULL AND NOT EXISTS (SELECT FROM offending WHERE offending.node_id = nodes.node_id)
	RETURNING nodes.node_id)
SELECT * FROM disqualified UNION ALL SELECT * FROM suspended UNION ALL SELECT * FROM reinstated`

	cleanup = `DELETE FROM audit_windows WHERE window_start < $1`
)

// database is SQL's side.
type database struct {
	db              *sql.DB
	rules           downtime.Service
	server, session int // process ids
}

// querier is the database, or a transaction of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// begin forgets all nodes.
func (d *database) begin(ctx context.Context, rules downtime.Service) error {
	d.rules = rules
	_, err := d.db.ExecContext(ctx, schema)
	return err
}

// rows are copied into a table.
type rows struct {
	ctx context.Context
	tx  *sql.Tx
	in  *sql.Stmt
}

func (d *database) copyIn(ctx context.Context, table string, columns ...string) (*rows, error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	in, err := tx.PrepareContext(ctx, fmt.Sprintf("COPY %s (%s) FROM STDIN", table, strings.Join(columns, ", ")))
	return &rows{ctx, tx, in}, err
}

func (r *rows) add(values ...any) error {
	_, err := r.in.ExecContext(r.ctx, values...)
	return err
}

func (r *rows) end() error {
	_, err := r.in.ExecContext(r.ctx)
	return errors.Join(err, r.in.Close(), r.tx.Commit())
}

// settle adds the nodes, none of which is suspended, and has the database know its tables.
func (d *database) settle(ctx context.Context, fleet downtime.Fleet) error {
	in, err := d.copyIn(ctx, "nodes", "node_id")
	if err != nil {
		return err
	}
	for node := range fleet {
		if err := in.add(key(node)); err != nil {
			return err
		}
	}
	if err := in.end(); err != nil {
		return err
	}
	_, err = d.db.ExecContext(ctx, "VACUUM ANALYZE")
	return err
}

// size is that of the tables with their indexes, in bytes.
func (d *database) size(ctx context.Context) (n float64, err error) {
	err = d.db.QueryRowContext(ctx,
		"SELECT pg_total_relation_size('audit_windows') + pg_total_relation_size('nodes')").Scan(&n)
	return n, err
}

func (d *database) write(ctx context.Context, audits []audit) error {
	var nodes pq.ByteaArray
	var starts pq.Int64Array
	var online pq.BoolArray
	for _, a := range audits {
		start := begin.Add(time.Duration(a.window) * d.rules.WindowLength)
		nodes, starts, online = append(nodes, key(a.node)), append(starts, start.Unix()), append(online, a.online)
	}
	_, err := d.db.ExecContext(ctx, writeAudits, nodes, starts, online)
	return err
}

func (d *database) offending(ctx context.Context, now time.Time) ([]events.Node, error) {
	return d.offendingBy(ctx, d.db, now)
}

func (d *database) offendingBy(ctx context.Context, q querier, now time.Time) ([]events.Node, error) {
	until := d.rules.StartOf(now)
	return nodesOf(q.QueryContext(ctx, getOffendingNodes, until.Add(-d.rules.TrackingPeriod), until,
		float64(d.rules.AllowedOfflinePercentage)/10_000, d.rules.MinimumWindows))
}

func nodesOf(found *sql.Rows, err error) (all []events.Node, _ error) {
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var id []byte
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		all = append(all, events.Node("0x"+hex.EncodeToString(id)))
	}
	return all, found.Err()
}

// chore is the document's: it returns the offending nodes.
func (d *database) chore(ctx context.Context, now time.Time) (offending []events.Node, err error) {
	offending, _, err = d.choreBy(ctx, d.db, now)
	return offending, err
}

// tryChore measures a chore that is undone, and returns the nodes on which something was decided.
func (d *database) tryChore(ctx context.Context, now time.Time) (took time.Duration, decided []events.Node, err error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	took = timed(func() { _, decided, err = d.choreBy(ctx, tx, now) })
	return took, decided, errors.Join(err, tx.Rollback())
}

func (d *database) choreBy(
	ctx context.Context, q querier, now time.Time,
) (offending, decided []events.Node, err error) {
	offending, err = d.offendingBy(ctx, q, now)
	if err != nil {
		return nil, nil, err
	}
	ids := make(pq.ByteaArray, len(offending))
	for i, node := range offending {
		ids[i] = key(node)
	}
	limit := now.Add(-d.rules.GracePeriod - d.rules.TrackingPeriod)
	if decided, err = nodesOf(q.QueryContext(ctx, decide, ids, now, limit)); err != nil {
		return nil, nil, err
	}
	_, err = q.ExecContext(ctx, cleanup, d.rules.StartOf(now).Add(-d.rules.TrackingPeriod))
	return offending, decided, err
}

// same fails with the first node that has another status here, or has it since another time.
func (d *database) same(ctx context.Context, fleet downtime.Fleet) error {
	found, err := d.db.QueryContext(ctx, "SELECT node_id, suspended_at, disqualified_at FROM nodes")
	if err != nil {
		return err
	}
	defer found.Close()
	n := 0
	for ; found.Next(); n++ {
		var id []byte
		var suspended, disqualified sql.NullTime
		if err := found.Scan(&id, &suspended, &disqualified); err != nil {
			return err
		}
		status, since := downtime.Active, sql.NullTime{}
		switch {
		case disqualified.Valid:
			status, since = downtime.Disqualified, disqualified
		case suspended.Valid:
			status, since = downtime.Suspended, suspended
		}
		node := events.Node("0x" + hex.EncodeToString(id))
		s := fleet[node]
		if s.Status != status || since.Valid && !s.Since.Equal(since.Time) {
			return fmt.Errorf("node %s is %s since %s here, and %s since %s in SQL",
				node, s.Status, s.Since, status, since.Time)
		}
	}
	if n != len(fleet) {
		return fmt.Errorf("%d nodes here, and %d in SQL", len(fleet), n)
	}
	return found.Err()
}
