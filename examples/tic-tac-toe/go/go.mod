module tic-tac-toe

go 1.26.5

require (
	github.com/heroiclabs/nakama-common v1.47.0
	github.com/muster-server/muster/sdk/go v0.0.0
)

require google.golang.org/protobuf v1.36.11 // indirect

replace github.com/muster-server/muster/sdk/go => ../../../sdk/go
