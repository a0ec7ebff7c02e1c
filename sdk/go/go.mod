module github.com/muster-server/muster/sdk/go

go 1.26.5

require (
	github.com/heroiclabs/nakama-common v1.47.0
	google.golang.org/protobuf v1.36.11
)
