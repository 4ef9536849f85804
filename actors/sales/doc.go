// Package sales is what a sale tells the rooms of a host, and what they tell it. The messages
// are plain data: an actor is named by its address.
package sales
