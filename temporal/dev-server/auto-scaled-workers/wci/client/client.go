// Package client answers the server's worker deployments that no workers are scaled here.
package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Client knows no instance of a worker controller and refuses to configure one, as a server does whose
// `workercontroller.enabled` is off.
type Client struct{}

// Instance is what would be known of a worker controller.
type Instance struct {
	Spec *iface.WorkerControllerInstanceSpec
}

var Module = fx.Provide(func() Client { return Client{} })

var errDisabled = serviceerror.NewUnimplemented("this server scales no workers")

func (Client) DescribeWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*Instance, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("this server scales no workers")
}

func (Client) ValidateWorkerControllerInstanceSpec(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return errDisabled
}

func (Client) UpdateWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*Instance, error) {
	return nil, errDisabled
}

func (Client) DeleteWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
) error {
	return nil
}
