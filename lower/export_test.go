package lower

// StoreInMemory sets how many bytes of plays stay in memory, and returns what undoes that.
func StoreInMemory(bytes int) (undo func()) {
	before := storeInMemory
	storeInMemory = bytes
	return func() { storeInMemory = before }
}
