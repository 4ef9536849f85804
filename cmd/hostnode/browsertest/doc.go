// Package browsertest tries the pages of a host in a real browser, Debian's chromium: that each page loads without an
// error, can be read and used by everybody, follows what happens, and says when it does not. It is a module of its own,
// because nobody else needs what drives a browser. `make browser-test` runs it, and keeps pictures in build/screens.
package browsertest
