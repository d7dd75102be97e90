import { taskQueues, type TaskQueue } from './task-queues.ts';
import type {
  DeleteTenantInput,
  DiscoverToolsInput,
  EmbedSpaceInput,
  EraseScopeInput,
  FanOutEventInput,
  GenerateResponseInput,
  IngestDocumentInput,
  RunConnectorInput,
  RunSweepInput,
  SyncConnectorInput,
  TraceResponseInput,
  Wake,
} from './workflow-inputs.ts';

interface Facts<Input, Key extends keyof Input> {
  /** The first part of the workflow's id; no two types share one. */
  prefix: string;
  /** The other parts of the id: the tenant's id first, if there is one. */
  parts: (ids: Pick<Input, Key>) => readonly (string | number)[];
  queue: TaskQueue;
  /** Whether a closed workflow's id may run again: never, only after a failure, or always. */
  reuse: 'never' | 'after_failure' | 'always';
  /** What sends the start after its commit: the committing process, or a relay for work that nobody waits for. */
  sender: 'process' | 'relay';
  /** Shown in lists of workflows. */
  summary: (input: Input) => string;
  taskTimeoutSeconds?: number;
}

/** `Signals` maps each signal's name to its arguments; `object` has none. */
interface Defined<Input, Key extends keyof Input, Signals extends object> extends Facts<Input, Key> {
  /** For type inference only. */
  readonly types?: { input: Input; ids: Pick<Input, Key>; signals: Signals };
}

function define<Input extends object, Key extends keyof Input, Signals extends object = object>(
  facts: Facts<Input, Key>,
): Defined<Input, Key, Signals> {
  return facts;
}

/**
 * Every workflow type of the platform, with its input, the parts of its id, and its signals. Use cases enqueue by
 * these types alone. What reconciliation does for each: `domain/operations/maintenance/reconciliation.ts`.
 */
export const workflows = {
  generateResponse: define<GenerateResponseInput, 'tenantId' | 'responseId'>({
    prefix: 'response',
    parts: ({ tenantId, responseId }) => [tenantId, responseId],
    queue: taskQueues.interactive,
    // A response is generated once, however its workflow ends.
    reuse: 'never',
    sender: 'process',
    summary: ({ model }) => `generateResponse · ${model}`,
  }),
  ingestDocument: define<IngestDocumentInput, 'tenantId' | 'documentId', { retried: [] }>({
    prefix: 'document',
    parts: ({ tenantId, documentId }) => [tenantId, documentId],
    queue: taskQueues.batch,
    // A document may be read again under its id; reading a finished one changes nothing.
    reuse: 'always',
    sender: 'process',
    summary: () => 'ingestDocument',
  }),
  embedSpace: define<EmbedSpaceInput, 'tenantId' | 'spaceId', { wake: [] }>({
    prefix: 'embeddings',
    parts: ({ tenantId, spaceId }) => [tenantId, spaceId],
    queue: taskQueues.synchronisation,
    // One at a time for each space; it ends when nothing is left to embed.
    reuse: 'always',
    sender: 'process',
    summary: () => 'embedSpace',
  }),
  runConnector: define<
    RunConnectorInput,
    'tenantId' | 'connectorId',
    {
      /** The id of the queued run. */
      syncRequested: [string];
      configChanged: [];
      /** The id of the run to cancel. */
      cancelRun: [string];
      deleted: [];
    }
  >({
    prefix: 'connector',
    parts: ({ tenantId, connectorId }) => [tenantId, connectorId],
    queue: taskQueues.synchronisation,
    // An actor: it ends when its connector is deleted.
    reuse: 'always',
    sender: 'process',
    summary: () => 'runConnector',
  }),
  syncConnector: define<SyncConnectorInput, 'tenantId' | 'runId'>({
    prefix: 'connector-sync',
    parts: ({ tenantId, runId }) => [tenantId, runId],
    queue: taskQueues.synchronisation,
    // A run is finished by its row; an interrupted run is taken up under its id.
    reuse: 'always',
    sender: 'process',
    summary: () => 'syncConnector',
  }),
  discoverTools: define<DiscoverToolsInput, 'tenantId' | 'serverId' | 'number'>({
    prefix: 'mcp-server',
    parts: ({ tenantId, serverId, number }) => [tenantId, serverId, number],
    queue: taskQueues.batch,
    // Each discovery has an id of its own.
    reuse: 'never',
    sender: 'process',
    summary: () => 'discoverTools',
  }),
  traceResponse: define<TraceResponseInput, 'tenantId' | 'responseId'>({
    prefix: 'trace',
    parts: ({ tenantId, responseId }) => [tenantId, responseId],
    queue: taskQueues.batch,
    reuse: 'never',
    sender: 'relay',
    summary: () => 'traceResponse',
  }),
  fanOutEvent: define<FanOutEventInput, 'tenantId' | 'eventId'>({
    prefix: 'notify',
    parts: ({ tenantId, eventId }) => [tenantId, eventId],
    queue: taskQueues.batch,
    // Each recipient is notified once, however often it runs.
    reuse: 'after_failure',
    sender: 'relay',
    summary: () => 'fanOutEvent',
  }),
  deleteTenant: define<DeleteTenantInput, 'tenantId', { cancel: []; runNow: [] }>({
    prefix: 'tenant-deletion',
    parts: ({ tenantId }) => [tenantId],
    queue: taskQueues.synchronisation,
    // A deletion is driven by its row: a lost workflow is started again and goes on, and a tenant may ask again after
    // a cancel.
    reuse: 'always',
    sender: 'process',
    summary: () => 'deleteTenant',
  }),
  eraseScope: define<EraseScopeInput, 'tenantId' | 'rootType' | 'rootId'>({
    prefix: 'erasure',
    parts: ({ tenantId, rootType, rootId }) => [tenantId, rootType, rootId],
    queue: taskQueues.synchronisation,
    // The rows that are left say what is to be done: a lost workflow is started again and goes on.
    reuse: 'always',
    sender: 'process',
    summary: ({ rootType }) => `eraseScope · ${rootType}`,
  }),
  runSweep: define<RunSweepInput, 'sweep', { wake: [Wake] }>({
    prefix: 'upkeep',
    parts: ({ sweep }) => [sweep],
    queue: taskQueues.upkeep,
    reuse: 'always',
    sender: 'process',
    summary: ({ sweep }) => `upkeep · ${sweep}`,
    taskTimeoutSeconds: 5,
  }),
};

export type WorkflowType = keyof typeof workflows;

type TypesOf<T extends WorkflowType> = NonNullable<(typeof workflows)[T]['types']>;
export type InputOf<T extends WorkflowType> = TypesOf<T>['input'];
export type IdsOf<T extends WorkflowType> = TypesOf<T>['ids'];
export type SignalOf<T extends WorkflowType> = keyof TypesOf<T>['signals'] & string;
export type ArgsOf<T extends WorkflowType, Name extends SignalOf<T>> = Extract<
  TypesOf<T>['signals'][Name],
  readonly unknown[]
>;

/** The facts of a type that do not depend on its input. */
export type WorkflowFacts = Omit<Facts<never, never>, 'parts' | 'summary'> & {
  parts: (ids: never) => readonly (string | number)[];
  summary: (input: never) => string;
};

export function factsOf(type: WorkflowType): WorkflowFacts {
  return workflows[type];
}

/** The id of a workflow in Temporal. The only place that builds one. */
export function workflowIdOf<T extends WorkflowType>(type: T, ids: IdsOf<T>): string {
  const { prefix, parts } = factsOf(type);
  return [prefix, ...parts(ids as never)].join('/');
}

const typesByPrefix = new Map(
  (Object.keys(workflows) as WorkflowType[]).map((type) => [factsOf(type).prefix, type]),
);

/** The type, and the parts after the prefix, of a given id; null: not an id of this platform's workflows. */
export function parseWorkflowId(workflowId: string): { type: WorkflowType; parts: readonly string[] } | null {
  const [prefix = '', ...parts] = workflowId.split('/');
  const type = typesByPrefix.get(prefix);
  return type === undefined ? null : { type, parts };
}
