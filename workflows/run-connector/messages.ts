import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Delivered } from '#domain/foundation/durable/messages.ts';
import type { ArgsOf, SignalOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Plan } from '#domain/knowledge/connectors/plan-run.ts';

export type { RunConnectorInput } from '#domain/foundation/durable/workflow-inputs.ts';

type Name = SignalOf<'runConnector'>;
const define = <N extends Name>(name: N) => defineSignal<Delivered<ArgsOf<'runConnector', N>>>(name);

export const syncRequestedSignal = define('syncRequested');
export const configChangedSignal = define('configChanged');
export const cancelRunSignal = define('cancelRun');
export const deletedSignal = define('deleted');

export const stateQuery = defineQuery<Plan | null>('state');

/** How a watch of a source ended; see `watchSource` of activities/connectors. */
export interface WatchSourceResult {
  /**
   * - `expired`: its time is over
   * - `ended`: the connector is not to be watched any more
   * - `unsupported`: the source reports no changes
   * - `failed`: the source cannot be reached, refuses, or ends each subscription soon
   * - `crowded`: the tenant has all watches on this worker that it may have
   */
  is: 'expired' | 'ended' | 'unsupported' | 'failed' | 'crowded';
  /** A subscription lasted for some time: a failure is the first one again. */
  wasHeld: boolean;
}
