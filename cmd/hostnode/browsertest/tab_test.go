//go:build browser

package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// newBrowser starts a browser of its own: nobody has signed in.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true))
	all, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	return all
}

// tab is a tab of a browser, and what it complained of.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// newTab opens a tab in a browser, or in that of another tab.
func newTab(t *testing.T, in context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(in)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	b.do() // This starts the browser, or opens the tab.
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	command(b, log.Enable, cdp.Empty{})
	return b
}

func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complain(fmt.Sprint(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.complain(fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded: // A refusal by the policy of the page, or what cannot be loaded.
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.complain(e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

func (b *tab) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, text)
}

// complaints are those since the last call.
func (b *tab) complaints() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, b.errors = b.errors, nil
	return all
}

// do performs actions, which must not take long.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	var err error
	done := make(chan struct{})
	go func() { // A context with a limit would end the browser with it, if this is what starts it.
		defer close(done)
		err = chromedp.Do(b.ctx, actions...)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		b.t.Fatalf("the browser does not answer within %s", limit)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// command sends a command of the browser's protocol.
func command[P, R any](b *tab, c cdp.Command[P, R], params P) (answer R) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		answer, err = cdp.Call(ctx, t, c, params)
		return err
	}))
	return answer
}

func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// asks evaluates an expression in the tab.
func asks[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		value, err = chromedp.Evaluate[T](expression)(ctx, t)
		return err
	}))
	return value
}

// until waits for an expression to become true.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	if !waits(ctx, func() bool {
		// While a page is replaced by another one, there may be nothing to ask.
		so, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		return err == nil && so
	}) {
		b.t.Fatalf("not within %s: %s; the page says:\n%s", limit, expression, asks[string](b, "document.body.innerText"))
	}
}

// says waits until an element has a text.
func (b *tab) says(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("(document.querySelector(%q)?.innerText ?? '').includes(%q)", selector, text))
}

// look is how a page is looked at.
type look struct {
	width  int64
	scheme string
	forced bool // colours
}

var looks = []look{
	{width: 360, scheme: "light"}, {width: 800, scheme: "light"}, {width: 1600, scheme: "light"},
	{width: 360, scheme: "dark"}, {width: 800, scheme: "dark"}, {width: 1600, scheme: "dark"},
}

// as has the tab show pages so.
func (b *tab) as(l look) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: 900, DeviceScaleFactor: 1,
	})
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}
	if l.forced {
		features = append(features, &emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	}
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// scripts lets pages run scripts, or not.
func (b *tab) scripts(may bool) {
	b.t.Helper()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !may})
}

var screens = flag.String("screens", "", "the `folder` for pictures of each page; empty: none are made")

// keep makes a picture of the page, if the flag says where.
func (b *tab) keep(name string, l look) {
	b.t.Helper()
	if *screens == "" {
		return
	}
	height := min(asks[int64](b, "document.documentElement.scrollHeight"), 4000)
	beyond := true
	picture := command(b, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: float64(l.width), Height: float64(height), Scale: 1},
	}).Data
	name = strings.NewReplacer("/", "_", "?", "_").Replace(name)
	if err := os.MkdirAll(*screens, 0o755); err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join(*screens, fmt.Sprintf("%s-%d-%s.png", name, l.width, l.scheme))
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
