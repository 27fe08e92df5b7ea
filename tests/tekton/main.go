// Reads Tekton objects from files as Tekton's webhook does, and says what it would refuse.
package main

import (
	"context"
	"fmt"
	"os"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	v1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"
)

type object interface {
	metav1.Object
	apis.Defaultable
	apis.Validatable
}

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return err
	}
	var object object
	switch kind.APIVersion + " " + kind.Kind {
	case "tekton.dev/v1 Task":
		object = &v1.Task{}
	case "tekton.dev/v1 Pipeline":
		object = &v1.Pipeline{}
	case "tekton.dev/v1 PipelineRun":
		object = &v1.PipelineRun{}
	case "tekton.dev/v1beta1 StepAction":
		object = &v1beta1.StepAction{}
	default:
		return fmt.Errorf("%s %s is not known here", kind.APIVersion, kind.Kind)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		return err
	}
	ctx := apis.WithinCreate(context.Background())
	// The API server gives the name before the webhook is asked.
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(object.GetGenerateName() + "x7k2p")
	}
	object.SetDefaults(ctx)
	// A nil *FieldError in an error is not nil.
	if err := object.Validate(ctx); err != nil {
		return err
	}
	return nil
}

func main() {
	refused := false
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Printf("%s: %v\n", file, err)
			refused = true
		}
	}
	if refused {
		os.Exit(1)
	}
}
