package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings have all of it in memory, and nothing waits for a disk: what is compared is judging.
const settings = "-c shared_buffers=2GB -c work_mem=512MB -c maintenance_work_mem=512MB -c max_wal_size=8GB " +
	"-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off -c listen_addresses=''"

// account runs the server, which refuses to run as root. Debian's package makes it.
const account = "postgres"

// openDatabase starts a server of its own, which listens at a socket in its directory only, and stops and removes it
// when it is shut.
func openDatabase(ctx context.Context) (_ *database, shut func() error, err error) {
	programs := *bin
	if programs == "" {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // The pattern is right.
		if len(found) == 0 {
			return nil, nil, errors.New("PostgreSQL is not installed here: apt-get install postgresql, " +
				"or name the directory of initdb (-bin)")
		}
		programs = slices.Max(found)
	}
	home, err := os.MkdirTemp(*dir, "bench-downtime-")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(home))
		}
	}()
	as, err := unprivileged(home)
	if err != nil {
		return nil, nil, err
	}
	do := func(program string, args ...string) error {
		c := exec.Command(filepath.Join(programs, program), args...)
		c.Dir, c.SysProcAttr = home, as
		if program == "initdb" { // The server inherits what pg_ctl has, and would keep a pipe open.
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", program, err, out)
			}
			return nil
		}
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", program, args[0], err, read(filepath.Join(home, "log")))
		}
		return nil
	}
	data := filepath.Join(home, "data")
	err = do("initdb", "-D", data, "-U", account, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return nil, nil, err
	}
	err = do("pg_ctl", "start", "-w", "-D", data, "-l", filepath.Join(home, "log"), "-o", settings+" -k "+home)
	if err != nil {
		return nil, nil, err
	}
	shut = func() error {
		return errors.Join(do("pg_ctl", "stop", "-w", "-m", "immediate", "-D", data), os.RemoveAll(home))
	}
	d := &database{}
	d.db, err = sql.Open("postgres", "host="+home+" user="+account+" dbname=postgres sslmode=disable")
	if err == nil {
		d.db.SetMaxOpenConns(1) // Its process is the one that is measured.
		err = d.db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&d.session)
	}
	if err == nil {
		_, err = fmt.Sscan(read(filepath.Join(data, "postmaster.pid")), &d.server)
	}
	if err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	return d, shut, nil
}

// processors is the processor time of the session, and of the processes that helped it and have ended.
func (d *database) processors() (time.Duration, error) {
	const tick = 10 * time.Millisecond // It is the same on all of Linux.
	var sum time.Duration
	for _, process := range []struct {
		id     int
		fields []int // of proc_pid_stat(5), counted from the state: our own time, or that of what has ended
	}{{d.session, []int{11, 12}}, {d.server, []int{13, 14}}} {
		_, stat, _ := strings.Cut(read(fmt.Sprintf("/proc/%d/stat", process.id)), ") ")
		all := strings.Fields(stat)
		for _, i := range process.fields {
			if i >= len(all) {
				return 0, fmt.Errorf("process %d of PostgreSQL has ended", process.id)
			}
			n, err := strconv.ParseInt(all[i], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum, nil
}

// read is a file as text; nothing if it is not there.
func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// unprivileged is how the server is run: by us, or, if we are root, by its own account, which then owns its directory.
func unprivileged(home string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(account)
	if err != nil {
		return nil, fmt.Errorf("run PostgreSQL, which refuses to run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}},
		os.Chown(home, int(uid), int(gid))
}
