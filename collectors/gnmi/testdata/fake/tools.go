//go:build tools

package fake

import _ "github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server"
