//go:build browser

package browsertest

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
)

// faint are the texts of a page whose contrast is less than 4.5, and the parts of charts with less than 3, by WCAG 2.2,
// 1.4.3 and 1.4.11.
const faint = `(() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#000" : "#fff");
  };
  const found = [];
  const judge = (what, colour, e, least) => {
    const a = light(rgba(colour)), b = light(ground(e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least) found.push(what + ": " + contrast.toFixed(2));
  };
  for (const e of document.querySelectorAll(".bars rect, .parts rect:not(.rest)"))
    judge(e.getAttribute("class"), getComputedStyle(e).fill, e.ownerSVGElement.parentElement, 3);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || e.closest("svg, script, option") || !e.checkVisibility()) continue;
    judge(texts.currentNode.data.trim().slice(0, 40), getComputedStyle(e).color, e, 4.5);
  }
  return found;
})()`

// cut are the tables that have more than is seen of them on a narrow screen, where rows are lists.
const cut = `innerWidth > 640 ? [] : [...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth)
  .map((e) => "cut: " + e.getAttribute("aria-label"))`

// wide are the elements that make the page wider than its window.
const wide = `document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 &&
    !e.closest(".scroll")).slice(0, 5).map((e) => e.tagName + "." + e.className + "#" + e.id + " " + e.innerText?.slice(0, 40))`

// alike are the parts of a whole that have one colour, or another one than in the legend.
const alike = `(() => {
  const parts = [...document.querySelectorAll(".parts rect:not(.rest)")].map((e) => getComputedStyle(e).fill);
  const legend = [...document.querySelectorAll(".parts + figcaption + .legend .mark")].map((e) =>
    getComputedStyle(e).backgroundColor);
  return parts.filter((c, i) => parts.indexOf(c) !== i || legend[i] !== c);
})()`

// unnamed are controls without a name, and ids that are there twice.
const unnamed = `[...document.querySelectorAll("input:not([type=hidden]), select")].filter((e) => !e.labels.length)
  .map((e) => "no label: " + e.name).concat([...document.querySelectorAll("[id]")].map((e) => e.id)
  .filter((id, i, all) => id === "" || all.indexOf(id) !== i).map((id) => "twice: #" + id))`

// sound opens a page in each look, and says what is wrong with it.
func (b *tab) sound(url, name string) {
	b.t.Helper()
	b.complaints()
	b.open(url)
	if title := asks[string](b, "document.querySelector('h1')?.innerText ?? ''"); title == "" {
		b.t.Errorf("%s has no heading", name)
	}
	if asks[bool](b, "!!document.querySelector('.told.bad')") {
		b.t.Errorf("%s: %s", name, asks[string](b, "document.querySelector('.told.bad').innerText"))
	}
	for _, text := range asks[[]string](b, unnamed) {
		b.t.Errorf("%s: %s", name, text)
	}
	for _, l := range looks {
		b.as(l)
		for _, text := range slices.Concat(asks[[]string](b, faint), asks[[]string](b, wide), asks[[]string](b, cut)) {
			b.t.Errorf("%s at %d in %s: %s", name, l.width, l.scheme, text)
		}
		b.keep(name, l)
	}
	for _, text := range b.complaints() {
		b.t.Errorf("%s: %s", name, text)
	}
}

// menu are the addresses in the menu.
func (b *tab) menu() []string {
	return asks[[]string](b, "[...document.querySelectorAll('nav a')].map((a) => a.href)")
}

// first are addresses below this one that the page leads to, one of each kind.
func (b *tab) first(paths ...string) (all []string) {
	for _, p := range paths {
		found := asks[string](b, fmt.Sprintf(`[...document.querySelectorAll('main a')].map((a) => a.href)
			.find((a) => new URL(a).pathname.startsWith("/page/" + %q)) ?? ""`, p))
		if found != "" {
			all = append(all, found)
		}
	}
	return all
}

func nameOf(url string) string {
	_, name, _ := strings.Cut(url, "/page/")
	return cmp.Or(name, "root")
}

// The pages of machines that a small host has no rows of are those of recorded hosts.
func TestPagesOfRecordedMachines(t *testing.T) {
	b := newTab(t, newBrowser(t))
	for _, c := range []struct {
		history string
		most    int
		paths   []string
	}{
		{"alerts", 6, []string{"overview", "alerts"}},
		{"nodes", 20, []string{"nodes", "nodes/0x6000000000000000000000000000000000000000"}},
		{"aggregation", 0, []string{"aggregation"}},
		{"sectors", 150, []string{"sectors", "sectors/1", "sectors/2"}},
		{"settings", 0, []string{"settings"}},
	} {
		site := pagetest.Open(t, pagetest.Recorded(t, pagetest.History{Root: root, Name: c.history, Most: c.most}))
		server := httptest.NewServer(site.Handler)
		command(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
			Headers: network.Headers{"Authorization": "Bearer " + site.Secret},
		})
		for _, path := range c.paths {
			url := server.URL + "/page/" + path
			b.sound(url, "recorded_"+path)
			for _, more := range b.first("aggregation/pieces/", "aggregation/aggregates/") {
				b.sound(more, "recorded_"+strings.Join(strings.Split(nameOf(more), "/")[:2], "_"))
				b.open(url)
			}
		}
		b.open("about:blank") // It ends the stream that the server waits for.
		server.CloseClientConnections()
		server.Close()
	}
}

func pagesAreSound(t *testing.T, h *host) {
	b := newTab(t, newBrowser(t))
	h.until("all slots are filled", func() bool { return strings.Contains(h.says("client", "status"), "3 of 3") })
	b.signIn(h)
	all := b.menu()
	if len(all) < 5 {
		t.Fatalf("the menu has %v", all)
	}
	for _, url := range all {
		b.open(url)
		for _, more := range b.first("sales/", "machines/sale", "streams/sale") {
			if !slices.Contains(all, more) && !slices.ContainsFunc(all, func(known string) bool {
				return strings.HasPrefix(nameOf(known), strings.Split(nameOf(more), "/")[0]+"/")
			}) {
				all = append(all, more)
			}
		}
	}
	for _, url := range all {
		b.sound(url, nameOf(url))
	}
	forced := newTab(t, b.ctx) // One of its own: forced colours stay in a tab.
	forced.as(look{1600, "dark", true})
	forced.open(h.url + "overview")
	for _, text := range asks[[]string](forced, alike) {
		t.Errorf("in forced colours parts are alike: %s", text)
	}
	forced.keep("forced_overview", look{1600, "dark", true})
}
