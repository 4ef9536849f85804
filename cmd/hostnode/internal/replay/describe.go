package replay

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// describe tells a folded state: each exported field is a fact, named like the field, or a list. Fields of a struct in
// it are named after both. What is empty or false is left out, and so is a time or an id that is zero; what is long,
// such as a proof, is cut.
func describe(state any) (out State) {
	if state != nil {
		out.addFields("", reflect.ValueOf(state))
	}
	return out
}

func (s *State) addFields(prefix string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := prefix
		if !field.Anonymous {
			name += named(field.Name, prefix != "")
		}
		switch of := v.Field(i); {
		case !field.IsExported():
		case isOpen(of):
			s.addFields(name, of)
		case isList(of):
			if of.Len() > 0 {
				s.Lists = append(s.Lists, listOf(name, of))
			}
		default:
			s.Facts.add(name, clip(text(of)))
		}
	}
}

func listOf(name string, rows reflect.Value) List {
	l := List{Name: name}
	for i := range min(rows.Len(), maxRows) {
		var row State
		if one := rows.Index(i); isOpen(one) {
			row.addFields("", one)
		} else {
			row.Facts.add("value", clip(text(one)))
		}
		l.Rows = append(l.Rows, row.Facts)
	}
	l.More = rows.Len() - len(l.Rows)
	return l
}

// isOpen reports whether a value is a struct that is told by its fields: it has one that others see.
func isOpen(v reflect.Value) bool {
	return v.Kind() == reflect.Struct &&
		slices.ContainsFunc(reflect.VisibleFields(v.Type()), reflect.StructField.IsExported)
}

func isList(v reflect.Value) bool { return v.Kind() == reflect.Slice && !isBytes(v) }

func isBytes(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Type().Elem().Kind() == reflect.Uint8
}

// named is a field's name as JSON has it: minPrice of MinPrice, id of ID, or Price behind another.
func named(field string, behind bool) string {
	if before, ends := strings.CutSuffix(field, "ID"); ends && before != "C" {
		field = before + "Id"
	}
	if behind {
		return field
	}
	upper := strings.IndexFunc(field, unicode.IsLower)
	switch {
	case upper < 0:
		upper = len(field)
	case upper > 1:
		upper--
	}
	return strings.ToLower(field[:upper]) + field[upper:]
}

// text is a value in words; empty: it says nothing.
func text(v reflect.Value) string {
	at, isTime := v.Interface().(time.Time)
	_, tells := v.Interface().(fmt.Stringer)
	switch kind := v.Kind(); {
	case v.IsZero() && (isTime || kind == reflect.Array || kind == reflect.Bool || kind == reflect.Pointer):
		return ""
	case isTime:
		return at.UTC().Format(time.RFC3339)
	case tells:
		return fmt.Sprint(v.Interface())
	case kind == reflect.Pointer:
		return text(v.Elem())
	case isBytes(v):
		return fmt.Sprintf("0x%x", v.Interface())
	case kind == reflect.String && !strconv.CanBackquote(v.String()): // It is no text.
		return "0x" + hex.EncodeToString([]byte(v.String()))
	}
	return fmt.Sprint(v.Interface())
}
