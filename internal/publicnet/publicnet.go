// Package publicnet keeps requests to addresses that others name out of the private network.
//
// An address is checked when it is connected to. So neither a redirect nor a name that changes its address between two
// looks gets around the check.
package publicnet

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrPrivate is within the error of a request to an address that is not public.
var ErrPrivate = errors.New("the address is private")

// Transport connects to public addresses only, unless private ones are allowed. Looking up a name and connecting has a
// time limit. There is no proxy, which would connect to private addresses.
func Transport(timeout time.Duration, allowPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); allowPrivate || err == nil && Public(at.Addr()) {
			return nil
		}
		return ErrPrivate
	}}
	return &http.Transport{DialContext: dialer.DialContext}
}

// special are networks that are not public, beside those that netip knows; in the last one are addresses of version 4.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2002::/16"),
}

// global has all of version 6 that is public. translated has addresses of version 4, in their last four bytes: with
// them a network without version 4 reaches it.
var global, translated = netip.MustParsePrefix("2000::/3"), netip.MustParsePrefix("64:ff9b::/96")

// Public reports whether an address is in the public network. Loopback, private, link-local (with the metadata of
// clouds), multicast, shared and reserved addresses are not.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if bytes := a.As16(); translated.Contains(a) {
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	inside := func(p netip.Prefix) bool { return p.Contains(a) }
	return a.IsGlobalUnicast() && !a.IsPrivate() && (a.Is4() || inside(global)) && !slices.ContainsFunc(special, inside)
}
