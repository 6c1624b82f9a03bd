package ibsim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Manager is a subnet manager: a process of OpenSM on a node of the subnet.
type Manager struct {
	Node int
	proc *process
}

// settings have OpenSM sweep often and notice within seconds that a master is
// gone; as shipped it takes 40 s. Of two the higher priority is master.
const settings = `sminfo_polling_timeout 500
polling_retry_number 2
sweep_interval 2
force_log_flush FALSE
`

// Manage starts a subnet manager on a node, with a priority from 0 to 15.
func (s *Sim) Manage(node, priority int) (*Manager, error) {
	s.started++
	dir := filepath.Join(s.dir, fmt.Sprintf("opensm-%d", s.started))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.tools.opensm, "-F", file, "-f", filepath.Join(dir, "log"), "-L", "4", "-p", fmt.Sprint(priority))
	cmd.Dir = dir
	vars := s.Environment(node)
	vars["OSM_CACHE_DIR"], vars["OSM_TMP_DIR"] = dir, dir
	cmd.Env = environment(vars)
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	m := &Manager{Node: node, proc: p}
	s.managers = append(s.managers, m)
	return m, nil
}

// Kill ends the manager at once, as a crash would.
func (m *Manager) Kill() { m.proc.kill() }
