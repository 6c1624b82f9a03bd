package receive

import (
	"errors"
	"net/http"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/quintet-dc/quintet/collectors/weigh"
)

// The forms of what is pushed, for weighing: fields by number, with what a message
// takes in memory once it is decoded.

// firstForm is that of remote write 1.0.
func firstForm() *weigh.Message {
	label := &weigh.Message{Bytes: 64}
	sample := &weigh.Message{Bytes: 48}
	exemplar := &weigh.Message{Bytes: 72, Fields: map[int]*weigh.Message{1: label}}
	series := &weigh.Message{Bytes: 128, Fields: map[int]*weigh.Message{1: label, 2: sample, 3: exemplar, 4: histogramForm()}}
	return &weigh.Message{Bytes: 64, Fields: map[int]*weigh.Message{1: series, 3: {Bytes: 64}}}
}

// secondForm is that of remote write 2.0.
func secondForm() *weigh.Message {
	exemplar := &weigh.Message{Bytes: 48, Packed: map[int]int{1: 4}}
	series := &weigh.Message{Bytes: 144, Packed: map[int]int{1: 4},
		Fields: map[int]*weigh.Message{2: {Bytes: 48}, 3: histogramForm(), 4: exemplar, 5: {Bytes: 16}}}
	return &weigh.Message{Bytes: 64, Fields: map[int]*weigh.Message{5: series}}
}

// histogramForm is that of a native histogram, in both.
func histogramForm() *weigh.Message {
	span := &weigh.Message{Bytes: 16}
	return &weigh.Message{Bytes: 256, Packed: map[int]int{9: 8, 12: 8}, Fields: map[int]*weigh.Message{8: span, 11: span}}
}

// otlpMessage is that of an OTLP request for metrics.
func otlpMessage() *weigh.Message {
	value := &weigh.Message{Bytes: 48}
	pair := &weigh.Message{Bytes: 48, Fields: map[int]*weigh.Message{2: value}}
	value.Fields = map[int]*weigh.Message{5: {Bytes: 32, Fields: map[int]*weigh.Message{1: value}}, 6: {Bytes: 32, Fields: map[int]*weigh.Message{1: pair}}}
	exemplar := &weigh.Message{Bytes: 96, Fields: map[int]*weigh.Message{7: pair}}
	number := &weigh.Message{Bytes: 144, Fields: map[int]*weigh.Message{7: pair, 5: exemplar}}
	histogram := &weigh.Message{Bytes: 240, Fields: map[int]*weigh.Message{9: pair, 8: exemplar}}
	buckets := &weigh.Message{Bytes: 48, Packed: map[int]int{2: 8}}
	exponential := &weigh.Message{Bytes: 320, Fields: map[int]*weigh.Message{1: pair, 8: buckets, 9: buckets, 11: exemplar}}
	summary := &weigh.Message{Bytes: 144, Fields: map[int]*weigh.Message{7: pair, 6: {Bytes: 32}}}
	points := func(of *weigh.Message) *weigh.Message {
		return &weigh.Message{Bytes: 64, Fields: map[int]*weigh.Message{1: of}}
	}
	metric := &weigh.Message{Bytes: 160, Fields: map[int]*weigh.Message{5: points(number), 7: points(number), 9: points(histogram), 10: points(exponential), 11: points(summary), 12: pair}}
	scope := &weigh.Message{Bytes: 144, Fields: map[int]*weigh.Message{1: {Bytes: 96, Fields: map[int]*weigh.Message{3: pair}}, 2: metric}}
	entity := &weigh.Message{Bytes: 96}
	resource := &weigh.Message{Bytes: 176, Fields: map[int]*weigh.Message{1: {Bytes: 64, Fields: map[int]*weigh.Message{1: pair, 3: entity}}, 2: scope}}
	return &weigh.Message{Bytes: 32, Fields: map[int]*weigh.Message{1: resource}}
}

// weighed makes of why a document is not decoded what is answered.
func weighed(err error) error {
	if errors.Is(err, weigh.ErrHeavy) || errors.Is(err, weigh.ErrDeep) {
		return &fault{status: http.StatusRequestEntityTooLarge, err: err}
	}
	return err
}

// weighingCodec weighs a request of OTLP over gRPC before it is decoded.
type weighingCodec struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c weighingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if err := weigh.Proto(whole.ReadOnlyData(), otlpMessage()); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(data, v)
}
