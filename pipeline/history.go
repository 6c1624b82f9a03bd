package pipeline

import (
	"net/http"

	"github.com/quintet-dc/quintet/pipeline/store"
)

// startHistory starts what keeps the log's series for long, where this process
// holds data.
func (s *service) startHistory() error {
	f := s.c.File
	if !s.c.Roles[Store] || f.Data == "" || f.Store.Off {
		return nil
	}
	c := f.Store
	history, err := store.New(store.Config{Log: s.bus, Dir: store.Dir(f.Data), Cadence: c.Cadence, Retain: c.Retain, RetainBytes: c.RetainBytes,
		Drop: c.Drop, MaxSeries: c.MaxSeries, Lateness: f.Site.Lateness, Rules: c.Rules, Process: s.c.Process, Version: s.c.Version,
		Metrics: s.metrics, Logger: s.part("store")})
	if err != nil {
		return err
	}
	s.history = history
	s.crew.start(telling, "history", history.Run)
	return nil
}

// historyHandler answers queries of the history; nil where there is none.
func (s *service) historyHandler() http.Handler {
	if s.history == nil {
		return nil
	}
	return s.history
}
