package store

type systemCache struct{}

func newSystemCache() systemCache { return systemCache{} }
