// Package config holds the settings of the program and finds their values.
//
// The struct Config (config.go) is the one description of every setting: its
// comments become the commented example, its tags the defaults and limits, its
// keys the names in the file (sales.maxWorkers), in the environment
// (HOSTNODE_SALES_MAX_WORKERS) and on the command line (--sales-max-workers).
// To add a setting, add a field with a comment; nothing else has to know.
//
// Load lays the sources over each other: defaults, then the YAML file, then the
// environment, then flags. What nobody knows is refused, with file and line or the
// name of the variable, because a typo in a setting must not sell storage at the
// default price. Every value remembers where it came from (Loaded.Settings).
//
// Not for: secrets. The file names a key file, it never holds a key.
package config
