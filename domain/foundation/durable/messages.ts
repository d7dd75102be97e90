import {
  workflowIdOf,
  type ArgsOf,
  type IdsOf,
  type InputOf,
  type SignalOf,
  type WorkflowType,
} from './workflow-types.ts';

/** Of a signal that came through the outbox; the last argument, after the signal's own. */
export interface Delivery {
  /** The same on every delivery of one signal; a receiver uses it to drop repeats. */
  id: string;
}

/** The arguments of a signal as its receiver gets them. */
export type Delivered<Args extends readonly unknown[]> = [...Args, Delivery?];

export interface SignalPayload {
  signal: string;
  args: readonly unknown[];
  /** The input with which the workflow starts if it is not running. */
  start?: object;
}

interface Addressed {
  /** Null: the tenant of the transaction that enqueues it, for a workflow without a tenant. */
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

/** A message to Temporal, made by the functions below. Ids, names and numbers only. */
export type Message = StartMessage | SignalMessage | CancelMessage;

/** A message as the outbox stores it. */
export type Dispatch = Message & { id: string; tenantId: string };

export function start<T extends WorkflowType>(type: T, input: InputOf<T>): StartMessage {
  return { kind: 'start', ...addressOf(type, input), payload: input };
}

/** Signals a running workflow; without one, the signal is dropped. */
export function signal<T extends WorkflowType, Name extends SignalOf<T>>(
  type: T,
  ids: IdsOf<T>,
  name: Name,
  args: ArgsOf<T, Name>,
): SignalMessage {
  return { kind: 'signal', ...addressOf(type, ids), payload: { signal: name, args } };
}

/** Signals a workflow, and starts it if it is not running. */
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
