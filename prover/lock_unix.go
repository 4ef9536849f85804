//go:build unix

package prover

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a busy lock is tried again. The kernel offers no wait that a
// context could end.
const lockPoll = 100 * time.Millisecond

// lockFile takes an exclusive lock that the kernel releases when the process ends,
// however it ends. The file stays; removing it would let two processes lock two
// files.
func lockFile(ctx context.Context, path string, say Progress) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	var ticker *time.Ticker
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // Closing releases the lock.
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
		if ticker == nil {
			say.say("wait for another process that makes keys")
			ticker = time.NewTicker(lockPoll)
			defer ticker.Stop()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-ticker.C:
		}
	}
}
