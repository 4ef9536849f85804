package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// comment is what stands above a field.
type comment string

// short is its first sentence, for the help of a flag.
func (c comment) short() string {
	text := strings.Join(strings.Fields(string(c)), " ")
	if first, _, more := strings.Cut(text, ". "); more {
		return first
	}
	return strings.TrimSuffix(text, ".")
}

// fieldComments reads the comments of the structs: "config.Sales.MaxWorkers" to
// the text without the name of the field in front, "most ..." instead of "MaxWorkers
// is the most ...".
func fieldComments() map[string]comment {
	all := map[string]comment{}
	for _, text := range []string{source, sectorSource, clusterSource, nodeSource, aggregationSource, apiSource} {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
		if err != nil {
			panic("config: own source: " + err.Error())
		}
		for n := range ast.Preorder(file) {
			t, _ := n.(*ast.TypeSpec)
			if t == nil {
				continue
			}
			if s, ok := t.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					all[file.Name.Name+"."+t.Name.Name+"."+f.Names[0].Name] = bare(f.Names[0].Name, f.Doc.Text())
				}
			}
		}
	}
	return all
}

// bare turns "MaxQueued is how many wait" into "How many wait".
func bare(name, text string) comment {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		return comment(text)
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return comment(strings.ToUpper(rest[:1]) + rest[1:])
}

const exampleHead = `# Settings of hostnode. All are optional: what is commented out has the value shown.
#
# The file is hostnode.yaml in the data directory, or the one that --config or
# HOSTNODE_CONFIG names. Every setting can also be given in the environment or on the
# command line: sales.maxWorkers is HOSTNODE_SALES_MAX_WORKERS and --sales-max-workers.
# Flags win over the environment, the environment over the file. Unknown keys are
# refused. "hostnode config show" prints the values in use and where each came from.
`

// Example is a file with every setting, its documentation and its default.
func Example() string { return Default().file(func(string) bool { return false }) }

// Commented is the same file with the settings that were given in force, and always the data directory.
func (l Loaded) Commented() string {
	return l.file(func(key string) bool { return key == "dataDir" || l.Given(key) })
}

// Given reports whether a setting was given by any source.
func (l Loaded) Given(key string) bool { return l.sources[key] != "default" }

func (c Config) file(inForce func(key string) bool) string {
	var out strings.Builder
	out.WriteString(exampleHead)
	writeExample(&out, "", "", reflect.ValueOf(c), fieldComments(), inForce)
	return out.String()
}

// writeExample writes the settings below a section, those that are not in force with their defaults.
func writeExample(out *strings.Builder, indent, section string, parent reflect.Value, comments map[string]comment,
	inForce func(key string) bool,
) {
	t := parent.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		name := field.Tag.Get("key")
		if indent == "" || i > 0 {
			out.WriteString("\n")
		}
		for line := range strings.Lines(string(comments[t.String()+"."+field.Name])) {
			out.WriteString(indent + "# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		if field.Type.Kind() == reflect.Struct {
			out.WriteString(indent + name + ":\n")
			writeExample(out, indent+"  ", section+name+".", parent.Field(i), comments, inForce)
			continue
		}
		s := setting{name, t.String(), field, parent.Field(i)}
		if allowed := s.allowed(); allowed != "" {
			out.WriteString(indent + "# Allowed: " + allowed + ".\n")
		}
		if inForce(section + name) {
			out.WriteString(indent + name + ": " + s.yaml() + "\n")
			continue
		}
		// What was derived, such as a path, is not the default.
		if s.value = reflect.New(field.Type).Elem(); field.Tag.Get("def") != "" {
			if err := s.set(field.Tag.Get("def")); err != nil {
				panic("config: default of " + s.key + ": " + err.Error())
			}
		}
		out.WriteString(indent + "#" + name + ": " + s.yaml() + "\n")
	}
}

// plainYAML are texts that mean themselves in YAML, and nothing but a text; also what is set to be a number.
var plainYAML = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+-]*$`)

// yaml is the value as a file has it.
func (s setting) yaml() string {
	quoted := func(text string) string {
		if plainYAML.MatchString(text) && !strings.EqualFold(text, "null") {
			return text
		}
		return strconv.Quote(text)
	}
	if list, ok := s.value.Interface().([]string); ok {
		var all []string
		for _, item := range list {
			all = append(all, quoted(item))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return quoted(s.text())
}
