import {
  workflowIdOf,
  type ArgsOf,
  type IdsOf,
  type InputOf,
  type SignalOf,
  type WorkflowType,
} from './workflow-types.ts';

/** Of a signal that came through the outbox, the last argument behind its own. */
export interface Delivery {
  /** The same each time that one signal is delivered: a receiver for which a repeat matters remembers it. */
  id: string;
}

/** The arguments of a signal as its receiver gets them. */
export type Delivered<Args extends readonly unknown[]> = [...Args, Delivery?];

export interface SignalPayload {
  signal: string;
  args: readonly unknown[];
  /** The input with which the workflow starts where it does not run. */
  start?: object;
}

interface Addressed {
  /** Null: of the tenant in whose transaction it is enqueued, for a workflow that belongs to none. */
  tenantId: string | null;
  workflowType: WorkflowType;
  workflowId: string;
}

export interface StartMessage extends Addressed {
  kind: 'start';
  payload: object;
}
export interface SignalMessage extends Addressed {
  kind: 'signal';
  payload: SignalPayload;
}
export interface CancelMessage extends Addressed {
  kind: 'cancel';
  payload: object;
}

/** What Temporal is to be sent, made by the functions below. Ids, names and numbers only. */
export type Message = StartMessage | SignalMessage | CancelMessage;

/** A message as the outbox holds it. */
export type Dispatch = Message & { id: string; tenantId: string };

export function start<T extends WorkflowType>(type: T, input: InputOf<T>): StartMessage {
  return { kind: 'start', ...addressOf(type, input), payload: input };
}

/** To a workflow that runs; where none does, it is dropped. */
export function signal<T extends WorkflowType, Name extends SignalOf<T>>(
  type: T,
  ids: IdsOf<T>,
  name: Name,
  args: ArgsOf<T, Name>,
): SignalMessage {
  return { kind: 'signal', ...addressOf(type, ids), payload: { signal: name, args } };
}

/** To a workflow that is started for it where it does not run. */
export function signalWithStart<T extends WorkflowType, Name extends SignalOf<T>>(
  type: T,
  input: InputOf<T>,
  name: Name,
  args: ArgsOf<T, Name>,
): SignalMessage {
  return { kind: 'signal', ...addressOf(type, input), payload: { signal: name, args, start: input } };
}

export function cancel<T extends WorkflowType>(type: T, ids: IdsOf<T>): CancelMessage {
  return { kind: 'cancel', ...addressOf(type, ids), payload: {} };
}

function addressOf<T extends WorkflowType>(type: T, ids: IdsOf<T>): Addressed {
  const { tenantId = null } = ids as { tenantId?: string };
  return { tenantId, workflowType: type, workflowId: workflowIdOf(type, ids) };
}
