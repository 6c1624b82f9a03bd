package raise

// Groups is how many groups are remembered.
func (r *Raiser) Groups() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.groups)
}

// OpenOne opens a group of one alert where the page has an address, and returns its
// id, the runbook_url and the action that its first revision states.
func OpenOne(page string, a Alert) (id, url, do string) {
	r := &Raiser{c: Config{Site: "lab", Page: page}}
	a.group = a.key()
	b := r.open(&group{id: idOf("lab", a.group, "")}, []*Alert{&a}, a.StartsAt)
	for _, x := range b.Actions {
		do = x.Text
	}
	return b.ID, b.Alerts[0].Annotations[runbookURL], do
}
