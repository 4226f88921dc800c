//go:build !linux

package main

func asOrdinaryUser([]string) int { panic("only on Linux") }
