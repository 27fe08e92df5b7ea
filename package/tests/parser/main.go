// Parser reads a package with Crossplane's own code, as its package manager and its builder do: what the tests of
// `cargo xpkg check` compare with. Its argument is a reference, or a file with an archive. It exits with 3 if
// Crossplane does not take the package.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser/yaml"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func main() {
	image, err := open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := check(image); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
}

func open(from string) (v1.Image, error) {
	if _, err := os.Stat(from); err == nil {
		image, err := tarball.ImageFromPath(from, nil)
		if err != nil {
			return nil, err
		}
		// As `crossplane xpkg push` does before it pushes.
		return xpkg.AnnotateLayers(image)
	}
	reference, err := name.ParseReference(from)
	if err != nil {
		return nil, err
	}
	return remote.Image(reference)
}

func check(image v1.Image) error {
	if err := validate.Image(image); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	stream, err := xpkg.ExtractPackageYAML(image)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	packageParser, err := yaml.New()
	if err != nil {
		return err
	}
	read, err := packageParser.Parse(context.Background(), stream)
	if err != nil {
		return fmt.Errorf("parser: %w", err)
	}
	if err := xpkg.OneMeta(read); err != nil {
		return fmt.Errorf("linter: %w", err)
	}
	meta := read.GetMeta()[0]
	linters := map[string]func() parser.Linter{
		"Configuration": xpkg.NewConfigurationLinter,
		"Function":      xpkg.NewFunctionLinter,
		"Provider":      xpkg.NewProviderLinter,
	}
	kind := meta.GetObjectKind().GroupVersionKind().Kind
	if err := linters[kind]().Lint(read); err != nil {
		return fmt.Errorf("linter: %w", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s %d %s\n", kind, len(read.GetObjects()), digest)
	return nil
}
