package agent_test

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/agent"
	"github.com/quintet-dc/quintet/pipeline/config"
)

func TestRunRequiresTheAddressOfALog(t *testing.T) {
	if err := agent.Run(t.Context(), agent.Config{File: config.Default()}); err == nil || !strings.Contains(err.Error(), "address of the log required") {
		t.Errorf("%v", err)
	}
}
