// Package sales holds the messages between a sale and the other rooms of a host. They are plain
// data: an actor is named by its address.
package sales
