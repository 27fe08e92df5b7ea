// Command godecode prints a RunFunctionResponse, serialized in each file named, as Crossplane core sees it: one
// line of JSON a file, with null for a connection detail whose value is nil. Core deletes the key of such a one.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func main() {
	for _, file := range os.Args[1:] {
		line, err := decode(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Println(string(line))
	}
}

func decode(file string) ([]byte, error) {
	wire, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rsp, seen := &fnv1.RunFunctionResponse{}, map[string]any{}
	if err := proto.Unmarshal(wire, rsp); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, UseEnumNumbers: true}.Marshal(rsp)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		return nil, err
	}
	desired, _ := seen["desired"].(map[string]any)
	resources, _ := desired["resources"].(map[string]any)
	for name, r := range rsp.GetDesired().GetResources() {
		markNil(resources[name], r)
	}
	markNil(desired["composite"], rsp.GetDesired().GetComposite())
	return json.Marshal(seen)
}

// markNil writes null where protojson wrote "" for nil: it does not tell nil from empty, core does.
func markNil(seen any, r *fnv1.Resource) {
	for key, value := range r.GetConnectionDetails() {
		if value == nil {
			seen.(map[string]any)["connection_details"].(map[string]any)[key] = nil
		}
	}
}
