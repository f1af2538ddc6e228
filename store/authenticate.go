package store

type tokenCache struct{}

func newTokenCache() tokenCache { return tokenCache{} }
