// Package config has the settings of the program and finds their values.
//
// The struct Config (config.go) is the one description of every setting: its
// comments become the commented example, its tags the defaults and limits, its
// keys the names in the file (sales.maxWorkers), in the environment
// (HOSTNODE_SALES_MAX_WORKERS) and on the command line (--sales-max-workers). To
// add a setting, add a field with a comment; nothing else must be changed. A machine
// may have the struct of its section in its own folder: then that is a field of Config,
// and its source is one of those that fieldComments reads.
//
// Load lays the sources over each other: defaults, then the YAML file, then the
// environment, then flags. Unknown settings are refused, with file and line or the
// name of the variable, because a typo must not sell storage at the default price.
// Every value has its source (Loaded.Settings).
//
// The file holds no keys: it only names the key file.
package config
