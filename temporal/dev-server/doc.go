// Package devserver pins the Temporal development server that the first run builds.
package devserver
