import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';

/** The status code of gRPC. */
const grpcNotFound = 5;

/** Whether Temporal does not know a workflow, or no longer. The client translates this error for some calls only. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) {
    return true;
  }
  const { code }: { code: number | null } = isGrpcServiceError(error) ? error : { code: null };
  return code === grpcNotFound;
}
