// Package hydra pins the authorization server that `npm run build:hydra` builds for tests.
package hydra
