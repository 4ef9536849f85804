//go:build browser

package browsertest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// One host is enough for all; the last test kills it.
func TestPagesOfAHost(t *testing.T) {
	h := newHost(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *host)
	}{
		{"forms give orders", formsGiveOrders},
		{"the keyboard suffices", theKeyboardSuffices},
		{"pages are read without scripts", pagesAreReadWithoutScripts},
		{"pages are sound", pagesAreSound},
		{"pages follow", pagesFollow},
	} {
		t.Run(c.name, func(t *testing.T) {
			here := *h
			here.t = t
			c.test(t, &here)
		})
	}
}

// signIn has the tab sign in with a token that allows orders.
func (b *tab) signIn(h *host) {
	b.t.Helper()
	_ = h.command("token", "revoke", "anna").Run() // The first time there is none.
	token, _, _ := strings.Cut(h.says("token", "new", "anna", "--scope", "operate"), "\n")
	b.open(h.url + "login?next=/page/overview")
	b.do(chromedp.SendKeys("#signin-token", token), chromedp.Click("#signin button"))
	b.says("header", "Sign out")
}

// mark leaves something in the tab that is gone after the page was loaded anew.
func (b *tab) mark() {
	b.t.Helper()
	asks[int](b, "window.mark = 1")
}

func (b *tab) marked() bool { return asks[bool](b, "window.mark === 1") }

func formsGiveOrders(t *testing.T, h *host) {
	b := newTab(t, newBrowser(t))
	b.open(h.url + "overview")
	if asks[int](b, "document.querySelectorAll('main form').length") != 0 {
		t.Error("who has not signed in sees orders")
	}
	for _, scripts := range []bool{true, false} {
		b.scripts(scripts)
		b.signIn(h)
		b.open(h.url + "overview")
		b.says("#well", "Selling")
		b.do(chromedp.SendKeys("#pause-reason", "a test"), chromedp.Click("#pause button"))
		b.says("#told", "No more slots are taken")
		b.says("#well", "paused")
		if said := h.says("queue"); !strings.Contains(said, "a test") {
			t.Errorf("the queue says:\n%s", said)
		}
		b.do(chromedp.Click("#resume button"))
		b.says("#told", "Slots are taken again")
		b.open(h.url + "alerts")
		b.do(chromedp.SetValue("#mute-kind", "disk-full"), chromedp.SendKeys("#mute-reason", "a <b>test</b>"),
			chromedp.Click("#mute button"))
		b.says("#mutes", "a <b>test</b>")
		b.do(chromedp.Click("#mutes button"))
		b.says("#mutes", "Nothing is muted")
		b.do(chromedp.Click("header button"))
		b.until("location.pathname === '/page/login' || !!document.querySelector('header a[href*=login]')")
	}
}

func pagesFollow(t *testing.T, h *host) {
	b := newTab(t, newBrowser(t))
	b.open(h.url + "overview")
	b.says("#contact", "Live")
	b.mark()
	h.says("drain", "--reason", "it is seen")
	b.says("#well", "paused")

	// The seventh tab of a browser hears of the host as the first one does.
	tabs := []*tab{b}
	for range 6 {
		tabs = append(tabs, newTab(t, b.ctx))
	}
	for _, each := range tabs {
		if each != b {
			each.open(h.url + "overview")
		}
		asks[int](each,
			`window.heard = 0; window.ear = new BroadcastChannel("hostnode"); ear.onmessage = () => heard++; 0`)
	}
	for _, each := range tabs {
		each.until("heard >= 3")
		each.says("#contact", "Live")
	}
	h.says("drain", "--resume")
	for _, each := range tabs {
		command(each, page.BringToFront, cdp.Empty{})
		each.until("!document.querySelector('#well').innerText.includes('paused')")
	}

	// A host that is killed is missed soon, and found again.
	command(b, page.BringToFront, cdp.Empty{})
	asks[int](b, `window.lost = "";
		new MutationObserver(() => { lost ||= contact.textContent.startsWith("Lost") ? contact.textContent : ""; })
			.observe(document.getElementById("contact"), {childList: true, characterData: true, subtree: true}); 0`)
	h.kill(h.run)
	b.until("lost !== ''")
	said := asks[string](b, "lost")
	after, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(said))
	if err != nil || after > 5 {
		t.Errorf("contact is missed late: %s", said)
	}
	h.start()
	b.says("#contact", "Live")
	h.until("the host takes orders", func() bool { return h.command("drain", "--reason", "it is back").Run() == nil })
	b.says("#well", "paused")
	if !b.marked() {
		t.Error("the page was loaded anew")
	}
}

func theKeyboardSuffices(t *testing.T, h *host) {
	b := newTab(t, newBrowser(t))
	b.signIn(h)
	b.open(h.url + "overview")
	b.do(chromedp.KeyEvent(kb.Tab))
	if asks[string](b, "document.activeElement.className") != "skip" {
		t.Error("the first stop does not lead to the content")
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("location.hash === '#main'")
	const most = 100
	for range most {
		b.do(chromedp.KeyEvent(kb.Tab))
		if asks[bool](b, "document.activeElement.closest('nav, header') !== null") {
			t.Fatal("the menu comes before the content")
		}
		if asks[string](b, "document.activeElement.id") == "pause-reason" {
			b.do(chromedp.KeyEvent("typed" + kb.Enter))
			b.says("#told", "No more slots are taken")
			h.says("drain", "--resume")
			return
		}
	}
	t.Errorf("the form is not reached in %d steps", most)
}

func pagesAreReadWithoutScripts(t *testing.T, h *host) {
	b := newTab(t, newBrowser(t))
	b.scripts(false)
	b.open(h.url + "overview")
	for _, url := range b.menu() {
		b.open(url)
		if text := asks[string](b, "document.querySelector('main').innerText"); len(text) < 40 {
			t.Errorf("%s says only: %s", url, text)
		}
	}
}
