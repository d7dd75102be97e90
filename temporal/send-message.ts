import { WorkflowNotFoundError, type Client, type WorkflowStartOptions } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import type {
  CancelMessage,
  Delivery,
  Message,
  SignalMessage,
  StartMessage,
} from '#domain/foundation/durable/messages.ts';
import { factsOf, type WorkflowFacts } from '#domain/foundation/durable/workflow-types.ts';
import { spaceIdAttribute, tenantIdAttribute } from '#workflows/shared/search-attributes.ts';

const reusePolicies: Readonly<Record<WorkflowFacts['reuse'], WorkflowIdReusePolicy>> = {
  never: WorkflowIdReusePolicy.REJECT_DUPLICATE,
  after_failure: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
  always: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
};

/** A workflow id that is or was in use counts as success: the row in PostgreSQL makes it unique. */
export async function sendStart(client: Client, message: StartMessage): Promise<'started' | 'existing'> {
  try {
    await client.workflow.start(message.workflowType, optionsOf(message, message.payload));
    return 'started';
  } catch (error) {
    if (isAlreadyStarted(error)) {
      return 'existing';
    }
    throw error;
  }
}

/** @returns `dropped` where the workflow has ended and must not, or cannot, be started for the signal */
export async function sendSignal(
  client: Client,
  message: SignalMessage,
  delivery: readonly [] | readonly [Delivery],
): Promise<'delivered' | 'dropped'> {
  const { signal, args, start } = message.payload;
  const signalArgs = [...args, ...delivery];
  try {
    if (start === undefined) {
      await client.workflow.getHandle(message.workflowId).signal(signal, ...signalArgs);
    } else {
      const options = optionsOf(message, start);
      await client.workflow.signalWithStart(message.workflowType, { ...options, signal, signalArgs });
    }
    return 'delivered';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isAlreadyStarted(error)) {
      return 'dropped';
    }
    throw error;
  }
}

/** A workflow that is unknown or has ended counts as cancelled. */
export async function sendCancel(
  client: Client,
  { workflowId }: Pick<CancelMessage, 'workflowId'>,
): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
  }
}

function isAlreadyStarted(error: unknown): boolean {
  return error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError';
}

/** The options of a start from the registry, readable for operators. */
function optionsOf({ workflowType, workflowId, tenantId }: Message, input: object): WorkflowStartOptions {
  const { queue, reuse, summary, taskTimeoutSeconds = 2 } = factsOf(workflowType);
  const spaceId = 'spaceId' in input && typeof input.spaceId === 'string' ? input.spaceId : null;
  // A message to a workflow without a tenant is sent from a row of some tenant.
  const owner = 'tenantId' in input ? tenantId : null;
  return {
    args: [input],
    taskQueue: queue,
    workflowId,
    workflowIdReusePolicy: reusePolicies[reuse],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowTaskTimeout: `${taskTimeoutSeconds}s`,
    ...(owner === null
      ? {}
      : {
          typedSearchAttributes: new TypedSearchAttributes([
            { key: tenantIdAttribute, value: owner },
            ...(spaceId === null ? [] : [{ key: spaceIdAttribute, value: spaceId }]),
          ]),
          priority: { fairnessKey: owner },
        }),
    staticSummary: summary(input as never),
  };
}
