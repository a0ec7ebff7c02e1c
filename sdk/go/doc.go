// Package muster runs game code written for Nakama's Go runtime on Muster, compiled to WebAssembly by the plain Go tool.
//
// A module keeps its InitModule, and adds one file:
//
//	package main
//
//	import muster "github.com/muster-server/muster/sdk/go"
//
//	func main() { muster.Run(InitModule) }
//
// The Go tool builds it:
//
//	GOOS=wasip1 GOARCH=wasm go build -o modules/game.wasm .
//
// docs/guide/go.md lists the differences from the original.
package muster
