package replay

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// marketMachine counts what a contract said.
type marketMachine struct {
	scanned *messages.BlocksScanned
	said    map[string]uint64
	dropped uint64
}

func (m *marketMachine) fold(e proto.Message) bool {
	me, ok := e.(messages.MarketEvent)
	if !ok {
		return false
	}
	switch e := me.(type) {
	case *messages.BlocksScanned:
		m.scanned = e
	case *messages.ChainReorganized:
		m.dropped += uint64(len(e.GetDropped()))
	default:
		if m.said == nil {
			m.said = map[string]uint64{}
		}
		m.said[strings.TrimPrefix(string(e.ProtoReflect().Descriptor().Name()), "Chain")]++
	}
	return true
}

func (m *marketMachine) state() State {
	var out State
	if m.scanned != nil {
		out.Facts.add("block", m.scanned.GetNumber(), "blockHash", m.scanned.GetHash(),
			"chainTime", events.TimeFromMessage(m.scanned.GetTime()))
	}
	out.Facts.add("blocksDropped", m.dropped)
	logs := List{Name: "logs"}
	for _, name := range sorted(m.said) {
		logs.add("log", name, "count", m.said[name])
	}
	return out.with(logs)
}
