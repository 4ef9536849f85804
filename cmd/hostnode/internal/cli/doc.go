// Package cli is what the commands of the program are made of: the settings and the backend that a command needs
// (App), commands that ask a host and print its answer (Asking, AsAt), and what is printed for people (Printer).
//
// A command of a further machine is a function of its folder that takes an App; it is named in its row of
// package machines.
package cli
