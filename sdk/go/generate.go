package muster

//go:generate go run ./internal/generate
