package projections

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// The states of the cores are plain structs of ids, amounts, times and
// numbers. This file turns them into JSON and back without losing anything,
// whatever fields a core adds: bytes as 0x-hex, amounts as decimals,
// times as RFC 3339 with nanoseconds, structs as objects without their zero
// fields. It is a codec of checkpoints only; what people see is in the views.

// errPlain: a checkpoint does not have the form of the state it is read into.
var errPlain = errors.New("not the form of the state")

var (
	typeOfAmount = reflect.TypeFor[events.Amount]()
	typeOfTime   = reflect.TypeFor[time.Time]()
)

// toPlain makes what package json can print. A type that it cannot hold
// without loss is a mistake of ours and panics; the tests hold every state to it.
func toPlain(v reflect.Value) any {
	switch v.Type() {
	case typeOfAmount:
		return v.Interface().(events.Amount).String()
	case typeOfTime:
		return v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)
	}
	switch v.Kind() {
	case reflect.String: // Quoted, because content ids are binary and JSON is not.
		return strconv.QuoteToASCII(v.String())
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.CanInt() {
			return v.Int()
		} else if v.CanUint() {
			return v.Uint()
		}
		return v.Bool()
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return toPlain(v.Elem())
	case reflect.Array, reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			raw := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(raw), v)
			return "0x" + hex.EncodeToString(raw)
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = toPlain(v.Index(i))
		}
		return list
	case reflect.Struct:
		object := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				panic("projections: a checkpoint cannot hold " + v.Type().String() + "." + f.Name)
			}
			if !v.Field(i).IsZero() {
				object[f.Name] = toPlain(v.Field(i))
			}
		}
		return object
	}
	panic("projections: a checkpoint cannot hold a " + v.Type().String())
}

// fromPlain is the reverse of toPlain. It refuses what toPlain does not make.
func fromPlain(p any, into reflect.Value) error {
	switch into.Type() {
	case typeOfAmount:
		s, _ := p.(string)
		a, err := events.ParseAmount(s)
		into.Set(reflect.ValueOf(a))
		return err
	case typeOfTime:
		s, _ := p.(string)
		t, err := time.Parse(time.RFC3339Nano, s)
		into.Set(reflect.ValueOf(t.UTC()))
		return err
	}
	switch into.Kind() {
	case reflect.Bool:
		b, ok := p.(bool)
		into.SetBool(b)
		return formOf(ok, into)
	case reflect.String:
		quoted, _ := p.(string)
		s, err := strconv.Unquote(quoted)
		into.SetString(s)
		return formOf(err == nil, into)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return fromPlain(p, into.Elem())
	case reflect.Array:
		return fromPlainArray(p, into)
	case reflect.Slice:
		if into.Type().Elem().Kind() == reflect.Uint8 {
			raw, err := bytesOf(p)
			into.SetBytes(append([]byte(nil), raw...)) // None is nil.
			return formOf(err == nil, into)
		}
		list, ok := p.([]any)
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i, item := range list {
			if err := fromPlain(item, into.Index(i)); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return formOf(ok, into)
	case reflect.Struct:
		return fromPlainStruct(p, into)
	}
	return fromPlainNumber(p, into)
}

func fromPlainNumber(p any, into reflect.Value) error {
	n, ok := p.(json.Number)
	switch {
	case !ok:
		return formOf(false, into)
	case into.CanInt():
		i, err := strconv.ParseInt(n.String(), 10, into.Type().Bits())
		into.SetInt(i)
		return formOf(err == nil, into)
	case into.CanUint():
		u, err := strconv.ParseUint(n.String(), 10, into.Type().Bits())
		into.SetUint(u)
		return formOf(err == nil, into)
	}
	return formOf(false, into)
}

func fromPlainArray(p any, into reflect.Value) error {
	if into.Type().Elem().Kind() != reflect.Uint8 {
		list, ok := p.([]any)
		if !ok || len(list) != into.Len() {
			return formOf(false, into)
		}
		for i, item := range list {
			if err := fromPlain(item, into.Index(i)); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	}
	raw, err := bytesOf(p)
	if err != nil || len(raw) != into.Len() {
		return formOf(false, into)
	}
	reflect.Copy(into, reflect.ValueOf(raw))
	return nil
}

func bytesOf(p any) ([]byte, error) {
	s, _ := p.(string)
	return hex.DecodeString(strings.TrimPrefix(s, "0x"))
}

func fromPlainStruct(p any, into reflect.Value) error {
	object, ok := p.(map[string]any)
	if !ok {
		return formOf(false, into)
	}
	known := 0
	for i := range into.NumField() {
		f := into.Type().Field(i)
		value, given := object[f.Name]
		if !given {
			continue
		}
		known++
		if err := fromPlain(value, into.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return formOf(known == len(object), into)
}

func formOf(ok bool, into reflect.Value) error {
	if !ok {
		return fmt.Errorf("%w: %s", errPlain, into.Type())
	}
	return nil
}
