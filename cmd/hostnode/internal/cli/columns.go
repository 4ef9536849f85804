package cli

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	gap       = 2  // between two columns
	indent    = 2  // of the second line of anything
	letter    = 2  // the widest
	wholeWord = 16 // the longest word that a column does not break, unless it is a number
)

// columns lays rows out in aligned columns, in lines of at most so many; 0: however long they get. Long texts take
// several lines, and numbers keep their units. Columns that are too many go on in a second line of each row, and so
// does its head. The last cell of a row has all the room that is left.
func columns(rows [][]string, most int) string {
	widths, least := measured(rows)
	var out strings.Builder
	bands := bandsOf(least, most)
	for _, b := range bands {
		shrink(widths[b.from:b.to], least[b.from:b.to], b.room(most))
	}
	for _, row := range rows {
		for _, b := range bands {
			if b.from == 0 || b.from < len(row) {
				writeBand(&out, row[b.from:min(b.to, len(row))], widths[b.from:b.to], b, most)
			}
		}
	}
	return out.String()
}

// band is a run of columns that stand beside each other.
type band struct{ from, to, indent int }

// room is how wide its columns may be in all; 0: any width.
func (b band) room(most int) int {
	if most == 0 {
		return 0
	}
	return most - b.indent - gap*(b.to-b.from-1)
}

// bandsOf puts as many columns beside each other as have room.
func bandsOf(least []int, most int) []band {
	bands := []band{{}}
	used := 0
	for i, w := range least {
		last := &bands[len(bands)-1]
		if most > 0 && i > last.from && last.indent+used+gap*(i-last.from)+w > most {
			bands, used = append(bands, band{i, i, indent}), 0
			last = &bands[len(bands)-1]
		}
		used += w
		last.to = i + 1
	}
	return bands
}

// measured returns how wide columns are if there is room, and how wide they must be.
func measured(rows [][]string) (widths, least []int) {
	for _, row := range rows {
		widths = slices.Grow(widths, len(row))[:max(len(widths), len(row))]
	}
	least = make([]int, len(widths))
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 && len(row) < len(widths) {
				least[i], widths[i] = max(least[i], letter), max(widths[i], letter)
				break
			}
			widths[i] = max(widths[i], columnsOf(cell))
			for _, word := range words(cell) {
				n := columnsOf(strings.TrimLeft(word, " "))
				if !number.MatchString(word) {
					n = min(n, wholeWord)
				}
				least[i] = max(least[i], n)
			}
		}
	}
	return widths, least
}

// shrink takes from the widest columns, until all fit.
func shrink(widths, least []int, room int) {
	if room == 0 {
		return
	}
	sum := 0
	for i := range widths {
		widths[i] = min(widths[i], max(room, 1))
		sum += widths[i]
	}
	for ; sum > room; sum-- {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return // One column, of a number that is longer than a line: it is broken.
		}
		widths[widest]--
	}
}

// writeBand writes the columns of one row that stand beside each other.
func writeBand(out *strings.Builder, row []string, widths []int, b band, most int) {
	cells, tall, used := make([][]string, len(row)), 0, 0
	for i, cell := range row {
		w := widths[i]
		switch {
		case most == 0:
			w = 0
		case i == len(row)-1:
			w = most - b.indent - used
		}
		cells[i] = wrapped(cell, w, 0, true)
		tall = max(tall, len(cells[i]))
		used += widths[i] + gap
	}
	if b.indent > 0 && !slices.ContainsFunc(row, func(cell string) bool { return cell != "" }) {
		return
	}
	for line := range max(tall, 1) {
		text := strings.Repeat(" ", b.indent)
		for i, cell := range cells {
			part := ""
			if line < len(cell) {
				part = cell[line]
			}
			text += part
			if i < len(cells)-1 {
				text += strings.Repeat(" ", max(widths[i]-columnsOf(part), 0)+gap)
			}
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

// paragraph is a line in as many lines as it needs. A word that is longer than a line stays whole, so that it can be
// copied.
func paragraph(line string, most int) string {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	return strings.Join(wrapped(line, most, min(begin, most/2)+indent, false), "\n")
}

// Flow fits a text of paragraphs into lines of at most so many columns; 0: its lines stay as they are. So do lines that
// begin with a space.
func Flow(text string, most int) string {
	if most == 0 {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		last := len(out) - 1
		if last >= 0 && out[last] != "" && line != "" && out[last][0] != ' ' && line[0] != ' ' {
			out[last] += " " + line
			continue
		}
		out = append(out, line)
	}
	for i, line := range out {
		out[i] = strings.Join(wrapped(line, most, 0, false), "\n")
	}
	return strings.Join(out, "\n")
}

// wrapped cuts a text into lines of at most so many columns, each after the first with an indent; 0: it stays one line.
// Words that are longer than a line are broken, or stay whole.
func wrapped(text string, most, hang int, breaks bool) []string {
	if most == 0 || columnsOf(text) <= most {
		return []string{text}
	}
	var lines []string
	line, used := "", 0
	end := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = strings.Repeat(" ", hang), hang
	}
	for _, word := range words(text) {
		n := columnsOf(word)
		if used+n > most && used > hang {
			end()
		}
		if len(lines) > 0 && used == hang {
			word = strings.TrimLeft(word, " ")
			n = columnsOf(word)
		}
		for breaks && used+n > most {
			head := first(word, most-used)
			line += head
			word, n = word[len(head):], columnsOf(word[len(head):])
			end()
		}
		line += word
		used += n
	}
	end()
	return recoloured(lines)
}

// words are a text's, each with the spaces before it. What follows a number belongs to it, because it may be a unit.
func words(text string) []string {
	var all []string
	for _, word := range spaced.FindAllString(text, -1) {
		if last := len(all) - 1; last >= 0 && bare.MatchString(all[last]) && !strings.HasPrefix(word, "  ") {
			all[last] += word
			continue
		}
		all = append(all, word)
	}
	return all
}

var (
	spaced = regexp.MustCompile(` *[^ ]+`)
	// bare is an amount, a count, a date or a time, and number the same with what follows it.
	bare   = regexp.MustCompile(`^ *[-+~≈(]?[0-9]([0-9.,:/%TZ-]*[0-9%TZ])?$`)
	number = regexp.MustCompile(`^ *[-+~≈(]?[0-9]([0-9.,:/%TZ-]*[0-9%TZ])?( [^ ]+)?$`)
)

// columnsOf is how many columns of a terminal a text takes.
func columnsOf(text string) int {
	n := 0
	for _, r := range ourColours.ReplaceAllString(text, "") {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0 // It is drawn over the letter before it.
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianNarrow, width.EastAsianHalfwidth:
	}
	return 1
}

// first is the beginning of a text that takes at most so many columns, and one letter at least.
func first(text string, most int) string {
	size, used := 0, 0
	for size < len(text) {
		if colour := ourColour.FindString(text[size:]); colour != "" {
			size += len(colour)
			continue
		}
		r, n := utf8.DecodeRuneInString(text[size:])
		if used += columnsOfRune(r); used > most && size > 0 {
			break
		}
		size += n
	}
	return text[:size]
}

// recoloured ends a colour at the end of each line, and begins it again in the next.
func recoloured(lines []string) []string {
	colour := ""
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		line = line[:len(line)-len(text)] + colour + text
		if all := ourColours.FindAllString(line, -1); len(all) > 0 {
			colour = all[len(all)-1]
		}
		if colour == reset {
			colour = ""
		}
		if colour != "" {
			line += reset
		}
		lines[i] = line
	}
	return lines
}
