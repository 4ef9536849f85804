//go:build browser

package browsertest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A new user's first hour: the host is what init has made of the usual answers, and all that is to be known of it is
// read on its pages.
func TestANewUserSellsFindsOutWhyNotMendsAndReadsWhatWasEarned(t *testing.T) {
	h := nothing(t)
	source := address(t)
	said := h.says("init", "--yes", "--quota", "1GiB", "--content-sources", "http://"+source)
	if !strings.Contains(said, "on offer") || strings.Contains(said, "warning") {
		t.Errorf("init says:\n%s", said)
	}
	h.prepare("film.bin", 1)
	h.prepare("book.bin", 2)
	client := h.begin(&output{}, "client", "serve", "--listen", source)
	h.start()
	b := newTab(t, newBrowser(t))
	h.until("the page is there", func() bool { return h.command("drain", "--resume").Run() == nil })
	b.signIn(h)
	b.says("#well", "Selling")

	h.says("client", "request", "film.bin", "--expiry", "20m")
	b.open(h.url + "sales")
	b.until("document.querySelectorAll('#sales tbody tr').length === 3")
	b.says("#sales tbody tr:nth-child(3)", "Proving")
	hosted := path.Base(asks[string](b, "document.querySelector('#sales tbody tr:nth-child(3) a').href"))
	b.keep("trial_sold", looks[1])

	h.refused("client", "request", "book.bin", "--duration", "400d", "[request-refused]")
	h.says("client", "request", "book.bin", "--price", "100", "--expiry", "20m")
	b.open(h.url + "queue")
	b.says("#refused", "price")
	b.follow("#refused tbody a")
	b.says("#facts", "Why")
	b.says("#facts", "0.5")
	b.keep("trial_why_not", looks[1])

	unsold := asks[string](b, "location.href")
	b.says("#decides tbody tr", "refused it: price")
	b.follow("#decides tbody a")
	b.do(chromedp.SendKeys("#set-price", "0.1/GiB/month"), chromedp.Click("#set button"))
	b.says("#told", "It is changed")
	b.says("#facts", "0.1")
	b.open(unsold)
	b.says("#facts", "State") // It is being sold.

	// While its client is away a damaged slot stays damaged, so that the alert can be read.
	h.kill(client)
	h.damage(hosted)
	b.open(h.url + "sales/" + hosted)
	b.do(chromedp.Click("#check button"))
	b.says("#trouble", "damaged")
	b.says("#checks", "damaged")
	b.keep("trial_damaged", looks[1])
	b.open(h.url + "overview")
	b.says("#attention", "damaged on disk")
	b.open(h.url + "alerts")
	b.says("#open", "slot-damaged")
	b.acknowledge("slot-damaged", "the old disk")
	b.says("#told", "It is recorded that you know of it")
	b.says("#open", "acknowledged by anna")
	b.says("#open", "the old disk")
	h.begin(&output{}, "client", "serve", "--listen", source)
	b.until("!document.querySelector('#open').innerText.includes('slot-damaged')")
	b.open(h.url + "sales/" + hosted)
	b.says("#story", "epaired")
	b.keep("trial_mended", looks[1])

	b.open(h.url + "earnings?by=slot")
	b.says("#all", "TST")
	b.says("#list", hosted[:6])
	rows, err := csv.NewReader(strings.NewReader(asks[string](b, `(() => {
		const get = new XMLHttpRequest();
		get.open("GET", document.querySelector("#export a").href, false);
		get.send();
		return get.responseText;
	})()`))).ReadAll()
	if err != nil || len(rows) < 4 || !strings.Contains(fmt.Sprint(rows), hosted) {
		t.Errorf("the list of what was earned: %v, %v", rows, err)
	}
	b.keep("trial_earned", looks[1])
	for _, text := range b.complaints() {
		t.Error(text)
	}
}

// prepare makes a file of these bytes, and its slots.
func (h *host) prepare(name string, of byte) {
	h.t.Helper()
	content := bytes.Repeat([]byte{of, of + 1, of + 2}, 300_000)
	if err := os.WriteFile(filepath.Join(h.dir, name), content, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.says("client", "prepare", name)
}

// refused runs a command that must be refused in the words that the last argument has.
func (h *host) refused(args ...string) {
	h.t.Helper()
	last := len(args) - 1
	out, err := h.command(args[:last]...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), args[last]) {
		h.t.Errorf("%v: %v\n%s", args[:last], err, out)
	}
}

// damage changes a byte of what is stored of a slot.
func (h *host) damage(slot string) {
	h.t.Helper()
	name := "*" + strings.TrimPrefix(slot, "0x") + "*"
	files, err := filepath.Glob(filepath.Join(h.dir, "data", "slots", "slots", name, "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	var largest string
	var most int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() > most {
			largest, most = file, info.Size()
		}
	}
	content, err := os.ReadFile(largest)
	if err != nil {
		h.t.Fatal(err)
	}
	content[len(content)/3] ^= 1
	if err := os.WriteFile(largest, content, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// follow clicks on a link, and waits for its page.
func (b *tab) follow(link string) {
	b.t.Helper()
	to := asks[string](b, fmt.Sprintf("new URL(document.querySelector(%q).href).pathname", link))
	b.do(chromedp.Click(link))
	b.until(fmt.Sprintf("location.pathname === %q", to))
}

// acknowledge fills in the form of the alert of this kind.
func (b *tab) acknowledge(kind, note string) {
	b.t.Helper()
	form := asks[string](b, fmt.Sprintf(`[...document.querySelectorAll("#open [id^=acknowledge-]")].find((e) =>
		e.closest("li, article, div").innerText.includes(%q))?.id ?? ""`, kind))
	id := strings.TrimSuffix(form, "-note")
	b.do(chromedp.SendKeys("#"+id+"-note", note+"\r"))
}
