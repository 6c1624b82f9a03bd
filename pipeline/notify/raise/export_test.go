package raise

// Groups is how many groups are remembered.
func (r *Raiser) Groups() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.groups)
}
