package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
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
func Example() string {
	var out strings.Builder
	out.WriteString(exampleHead)
	writeExample(&out, "", reflect.ValueOf(Default()), fieldComments())
	return out.String()
}

func writeExample(
	out *strings.Builder, indent string, parent reflect.Value, comments map[string]comment,
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
			writeExample(out, indent+"  ", parent.Field(i), comments)
			continue
		}
		s := setting{name, t.String(), field, parent.Field(i)}
		if allowed := s.allowed(); allowed != "" {
			out.WriteString(indent + "# Allowed: " + allowed + ".\n")
		}
		out.WriteString(indent + "#" + name + ": " + s.yaml() + "\n")
	}
}

// yaml is the value as a file has it.
func (s setting) yaml() string {
	switch {
	case s.field.Type.Kind() == reflect.Slice:
		return "[" + strings.ReplaceAll(s.text(), ",", ", ") + "]"
	case s.text() == "":
		return `""`
	}
	return s.text()
}
