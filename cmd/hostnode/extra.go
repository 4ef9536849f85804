package main

import (
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// loader reads the configuration for a command whose flags were parsed.
type loader func(cmd *cobra.Command) (config.Loaded, error)

// extraCommands are the commands that run something.
func extraCommands(load loader) []*cobra.Command {
	return []*cobra.Command{newRunCommand(load), newDemoCommand(load), newDevchainCommand(load)}
}
