package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
)

// Aggregation gathers CARs into aggregates, finds storage for them, and gives each client a proof.
type Aggregation struct {
	// Run makes this host take CARs in.
	Run bool `key:"run" def:"false"`
	// Packer is ferry, which loads batches on ferries and merges these, or greedy, which makes an aggregate as soon as
	// there is enough for one.
	Packer string `key:"packer" def:"ferry" oneOf:"ferry greedy"`
	// Size is that of an aggregate, padded: a power of two. A piece may have half of it.
	Size events.Bytes `key:"size" def:"32GiB" min:"512B" max:"64GiB"`
	// SmallestClass is the smallest class of ferries, and of aggregates in which a bad piece is looked for: a power of
	// two.
	SmallestClass events.Bytes `key:"smallestClass" def:"1GiB" min:"512B" max:"64GiB"`
	// MinFill is how many bytes of pieces an aggregate has at least; with ferry, at most half of size. 0: half of size.
	MinFill events.Bytes `key:"minFill" def:"0B" max:"64GiB"`
	// Batch is how many pieces make a batch; after window, fewer do.
	Batch int `key:"batch" def:"10000" min:"1" max:"1000000"`
	// Merge is how many ferries of a class are merged at once; after window, two are.
	Merge int `key:"merge" def:"10" min:"2" max:"1000"`
	// Window is how long pieces and ferries wait for more of them.
	Window time.Duration `key:"window" def:"5m" min:"100ms" max:"24h"`
	// Notice is the age of the oldest queued piece from which whatever fits is packed, and operators are told.
	Notice time.Duration `key:"notice" def:"48h" min:"1s" max:"8760h"`
	// Warning is the age at which operators are warned.
	Warning time.Duration `key:"warning" def:"60h" min:"1s" max:"8760h"`
	// Critical is the age at which they are told that it is critical.
	Critical time.Duration `key:"critical" def:"72h" min:"1s" max:"8760h"`
	// Keep is copy, which keeps the bytes of each piece, in the quota, until it is approved or refused; or source,
	// which reads them again from where they came from.
	Keep string `key:"keep" def:"copy" oneOf:"copy source"`
	// Attempts is after how many rejections that name no piece the pieces of an aggregate are tried by halves.
	Attempts uint64 `key:"attempts" def:"3" min:"1" max:"100"`
	// GroupQuota is how many bytes of a group may be read or queued at once. 0: any.
	GroupQuota events.Bytes `key:"groupQuota" def:"0B" max:"1EiB"`
	// MaxOpen is how many CARs may be under way.
	MaxOpen int `key:"maxOpen" def:"100000" min:"1" max:"10000000"`
	// Parallel is how many CARs are read at once.
	Parallel int `key:"parallel" def:"4" min:"1" max:"1000"`
	// Every is the pause between two looks at what waits.
	Every time.Duration `key:"every" def:"10s" min:"100ms" max:"1h"`
	// RootRequired refuses a CAR of which no block is its root; otherwise it is only noted.
	RootRequired bool `key:"rootRequired" def:"false"`
	// ZeroPadded takes CARs with zeros behind their last block, as some tools write them.
	ZeroPadded bool `key:"zeroPadded" def:"false"`
	// Sources are where CARs may be read from.
	Sources ContentSources `key:"sources"`
	// Broker finds storage for aggregates.
	Broker Broker `key:"broker"`
}

// ContentSources are where CARs may be read from.
type ContentSources struct {
	// Roots are the directories below which files may be read, absolute. None: no file may.
	Roots []string `key:"roots" max:"100"`
	// Private lets addresses of private networks be read from, and of this machine.
	Private bool `key:"private" def:"false"`
	// MaxBytes is the largest CAR that is read.
	MaxBytes events.Bytes `key:"maxBytes" def:"32GiB" min:"1B" max:"64GiB"`
	// Idle is how long a source may send nothing.
	Idle time.Duration `key:"idle" def:"30s" min:"100ms" max:"1h"`
	// BytesPerSecond is how much is read in a second from all of them. 0: any.
	BytesPerSecond events.Bytes `key:"bytesPerSecond" def:"0B" max:"1TiB"`
}

// Broker finds storage for aggregates.
type Broker struct {
	// Kind is http, which asks an outside broker, or sectors, which makes each aggregate a piece of a sector of this
	// host (sectors.sealer).
	Kind string `key:"kind" def:"sectors" oneOf:"http sectors"`
	// URL is where the broker is asked: https://broker.example/api. A changed one is taken for another address of the
	// same broker; where another broker is, no deal may be open.
	URL string `key:"url" secret:"url"`
	// TokenFile has the token that is sent with each request, in a file that only its owner can read.
	TokenFile string `key:"tokenFile"`
	// Poll is the pause between two questions about a deal.
	Poll time.Duration `key:"poll" def:"5m" min:"100ms" max:"24h"`
	// Silent is how long the broker may give no answer before operators are told.
	Silent time.Duration `key:"silent" def:"1h" min:"1s" max:"720h"`
	// Listen is where the broker may call when it has news, such as 0.0.0.0:7960; it is asked then. Empty: nowhere.
	Listen string `key:"listen"`
	// CallbackTokenFile has the token that the broker sends then.
	CallbackTokenFile string `key:"callbackTokenFile"`
}

// Packing is how pieces are packed.
func (a Aggregation) Packing() cargo.Packing {
	return cargo.Packing{
		Packer: a.Packer, Size: uint64(a.Size), Smallest: min(uint64(a.SmallestClass), uint64(a.Size)),
		MinFill: cmp.Or(uint64(a.MinFill), uint64(a.Size)/2), Batch: a.Batch, Merge: a.Merge, Window: a.Window,
		Notice: a.Notice,
	}
}

func (c Config) checkAggregation() error {
	a := c.Aggregation
	if err := a.Packing().Check(); err != nil {
		return refuse("aggregation.size", fmt.Sprint(a.Size), err.Error())
	}
	if a.Warning < a.Notice || a.Critical < a.Warning {
		return refuse("aggregation.warning", a.Warning.String(), "want notice, warning and critical in that order")
	}
	for _, root := range a.Sources.Roots {
		if !filepath.IsAbs(root) {
			return refuse("aggregation.sources.roots", root, "write an absolute path")
		}
	}
	if !a.Run {
		return nil
	}
	switch b := a.Broker; {
	case b.Kind == "http" && !overHTTP(b.URL):
		return refuse("aggregation.broker.url", b.URL, "not a URL; write for example https://broker.example/api")
	case b.Kind == "http" && b.TokenFile == "":
		return refuse("aggregation.broker.tokenFile", "", "the broker must know who asks; name a file with its token")
	case b.Kind == "sectors" && !c.Seals():
		return refuse("aggregation.broker.kind", b.Kind, "this host seals no sectors; set sectors.sealer, or take http")
	case b.Listen != "" && b.CallbackTokenFile == "":
		return refuse("aggregation.broker.callbackTokenFile", "", "name a file with the token that the broker sends")
	case b.Listen != "":
		if _, _, err := splitAddress(b.Listen); err != nil {
			return refuse("aggregation.broker.listen", b.Listen, "write host:port, for example 0.0.0.0:7960")
		}
	}
	return nil
}
