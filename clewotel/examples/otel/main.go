// Command otel prints the trace of a question as a tree, each span with its time and its tokens. A
// program would export the spans with OTLP instead.
//
//	go run ./clewotel/examples/otel "What is in this directory?"
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
)

func main() {
	ctx, spans := context.Background(), tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	opts := clewotel.Instrument(&clew.Options{}, &clewotel.Options{TracerProvider: provider})
	result, err := clew.Run(ctx, strings.Join(os.Args[1:], " "), opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
	all := spans.GetSpans()
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	for _, span := range all {
		if !span.Parent.IsValid() {
			printTree(all, span, "")
		}
	}
}

// printTree prints a span and those below it.
func printTree(all tracetest.SpanStubs, span tracetest.SpanStub, indent string) {
	fmt.Printf("%s%s (%v", indent, span.Name, span.EndTime.Sub(span.StartTime).Round(time.Millisecond))
	for _, attr := range span.Attributes {
		if strings.HasPrefix(string(attr.Key), "gen_ai.usage.") || attr.Key == "clew.cost_usd" {
			fmt.Printf(", %s %s", attr.Key, attr.Value.String())
		}
	}
	fmt.Println(")")
	for _, child := range all {
		if child.Parent.SpanID() == span.SpanContext.SpanID() {
			printTree(all, child, indent+"  ")
		}
	}
}
