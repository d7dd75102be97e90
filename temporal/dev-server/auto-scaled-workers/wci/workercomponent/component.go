// Package workercomponent adds nothing to the server's own workers.
package workercomponent

import "go.uber.org/fx"

var Module = fx.Options()
