package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/hostnode/hostnode/internal/durable"
)

// Format is the version of the layout that this program reads and writes.
const Format = 1

// Errors of opening a data directory.
var (
	// ErrInUse is what errors.Is finds in an *InUseError.
	ErrInUse = errors.New("data directory is in use")
	// ErrNewerFormat: a newer version of the program made the directory.
	ErrNewerFormat = errors.New("data directory has a newer format")
	// ErrFormat: the format file has no readable version.
	ErrFormat = errors.New("the format of the data directory is unreadable")
	// ErrEmpty: no host has ever used the directory.
	ErrEmpty = errors.New("data directory holds no host")
	// ErrNoRecord: a host has used the directory, but its events are not there.
	ErrNoRecord = errors.New("data directory holds no events")
)

// InUseError says who uses the directory.
type InUseError struct {
	Root string
	// PID is the process, 0 when it has not said.
	PID int
	// Since is when it took the directory; zero when not known.
	Since time.Time
	// Brief: the holder is a command that will soon give the directory back.
	Brief bool
}

// Error names the process.
func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = "process " + strconv.Itoa(e.PID)
		if !e.Since.IsZero() {
			who += " since " + e.Since.UTC().Format(time.RFC3339)
		}
	}
	if e.Brief {
		who += ", a command that ends by itself"
	}
	return fmt.Sprintf("%v: %s is used by %s", ErrInUse, e.Root, who)
}

// Is makes errors.Is(err, ErrInUse) true.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Dir is a data directory that this process owns until Close.
type Dir struct {
	Layout
	lock *flock.Flock
}

const (
	// briefPatience is how long an opening waits for a command that uses the directory:
	// somebody's look at the status must not keep a host from starting.
	briefPatience = 10 * time.Second
	// lockPause is between two tries of a lock.
	lockPause = 50 * time.Millisecond
	// briefly marks a command in the note in the lock file.
	briefly = "briefly"
)

// use is what a directory is opened for.
type use struct {
	create   bool          // it may be new
	brief    bool          // it is given back soon
	patience time.Duration // with commands that use it
	pause    func()        // between two tries; nil: lockPause
}

// Open makes the directory if needed, takes its lock and checks its format. now is
// written into the lock file for others to read. Open waits for a command that uses the
// directory, for ten seconds at most. Errors: *InUseError, ErrOtherUser, ErrNewerFormat,
// ErrFormat, and those of the file system.
func Open(root string, now time.Time) (*Dir, error) {
	return open(root, now, use{create: true, patience: briefPatience})
}

// OpenExisting is Open for commands that make no host: a directory that no host has
// used is ErrEmpty.
func OpenExisting(root string, now time.Time) (*Dir, error) {
	return open(root, now, use{patience: briefPatience})
}

// OpenBriefly is Open, with create, or else OpenExisting, for commands that end soon:
// others wait for them.
func OpenBriefly(root string, now time.Time, create bool) (*Dir, error) {
	return open(root, now, use{create: create, brief: true, patience: briefPatience})
}

func open(root string, now time.Time, u use) (*Dir, error) {
	l := At(root)
	if err := l.CheckUser(); err != nil {
		return nil, err
	}
	if u.create {
		if err := os.MkdirAll(root, 0o700); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
	} else if _, err := os.Stat(l.formatFile()); errors.Is(err, fs.ErrNotExist) {
		if err := l.begun(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", ErrEmpty, root)
	} else if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	// The format comes first, because a newer version may lock in another way.
	if err := l.checkFormat(u.create); err != nil {
		return nil, err
	}
	lock := flock.New(l.LockFile(), flock.SetPermissions(0o600))
	if err := l.take(lock, u); err != nil {
		return nil, err
	}
	d := &Dir{l, lock}
	if err := d.settle(now, u.brief); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// take takes the lock, and waits for commands that have it. A new holder may not have
// written yet what it is, so its note is read at least twice.
func (l Layout) take(lock *flock.Flock, u use) error {
	if u.pause == nil {
		u.pause = func() { time.Sleep(lockPause) }
	}
	begun := time.Now()
	for tries := 1; ; tries++ {
		free, err := lock.TryLock()
		if err != nil {
			return fmt.Errorf("lock data directory: %w", err)
		}
		if free {
			return nil
		}
		holder := l.Holder()
		if tries > 1 && (!holder.Brief || time.Since(begun) >= u.patience) {
			return &holder
		}
		u.pause()
	}
}

// settle writes the note for others.
func (d *Dir) settle(now time.Time, brief bool) error {
	if err := d.writeFormat(); err != nil {
		return err
	}
	note := fmt.Sprintf("%d %s", os.Getpid(), now.UTC().Format(time.RFC3339))
	if brief {
		note += " " + briefly
	}
	// In place, because the lock is on this very file.
	if err := os.WriteFile(d.LockFile(), []byte(note+"\n"), 0o600); err != nil {
		return fmt.Errorf("write lock of the data directory: %w", err)
	}
	return nil
}

// Begin makes the directory and writes its format, for a user of only a part of it that
// does not lock it: the development chain, with a host or without. It refuses a directory
// of a newer version (ErrNewerFormat), and one that is something else (ErrFormat).
func (l Layout) Begin() error {
	if err := errors.Join(l.CheckUser(), l.checkFormat(true)); err != nil {
		return err
	}
	if err := os.MkdirAll(l.Root, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	return l.writeFormat()
}

// writeFormat writes the format of a new directory.
func (l Layout) writeFormat() error {
	if _, err := os.Stat(l.formatFile()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := durable.Replace(l.formatFile(), fmt.Appendf(nil, "hostnode %d\n", Format)); err != nil {
		return fmt.Errorf("write format of the data directory: %w", err)
	}
	return nil
}

// checkFormat refuses a directory that this version cannot read. With create, a
// missing file means a new directory.
func (l Layout) checkFormat(create bool) error {
	text, err := os.ReadFile(l.formatFile())
	if errors.Is(err, fs.ErrNotExist) && create {
		return l.begun()
	}
	if err != nil {
		return fmt.Errorf("read format of the data directory: %w", err)
	}
	number, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "hostnode ")
	version, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil || version == 0 {
		const most = 40
		return fmt.Errorf("%w: %s holds %q, want \"hostnode %d\"",
			ErrFormat, l.formatFile(), text[:min(len(text), most)], Format)
	}
	if version > Format {
		return fmt.Errorf("%w: %s has format %d, this version reads %d", ErrNewerFormat, l.Root, version, Format)
	}
	return nil
}

// begun refuses, with ErrFormat, a directory that lacks the format file but has files of
// a host: a host writes that file first.
func (l Layout) begun() error {
	for _, dir := range []string{l.Events(), l.Outbox(), l.Slots(), l.Sectors(), l.Chain()} {
		if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
			return fmt.Errorf("%w: %s is missing, and %s is not empty", ErrFormat, l.formatFile(), dir)
		}
	}
	return nil
}

// Holder returns who has the lock, by the note in the lock file. It does not try
// the lock.
func (l Layout) Holder() InUseError {
	holder := InUseError{Root: l.Root}
	text, err := os.ReadFile(l.LockFile())
	if err != nil {
		return holder
	}
	pid, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	since, mark, _ := strings.Cut(rest, " ")
	holder.Brief = mark == briefly
	if n, err := strconv.Atoi(pid); err == nil && n > 0 {
		holder.PID = n
	}
	if t, err := time.Parse(time.RFC3339, since); err == nil {
		holder.Since = t
	}
	return holder
}

// Listen removes the socket that a killed process may have left, and returns its
// path. That is safe because this process has the lock.
func (d *Dir) Listen() (string, error) {
	path, err := d.SocketPath("hostnode.sock")
	if err != nil {
		return "", err
	}
	if path != d.join("hostnode.sock") {
		if err := durable.Replace(d.socketFile(), []byte(path+"\n")); err != nil {
			return "", fmt.Errorf("write where the socket is: %w", err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove the socket of a process that has ended: %w", err)
	}
	return path, nil
}

// Close gives the directory back. The files stay, and so does the lock file:
// removing it could take it away from the next holder.
func (d *Dir) Close() error {
	if err := d.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock data directory: %w", err)
	}
	return nil
}
