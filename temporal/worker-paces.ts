import { availableParallelism } from 'node:os';
import { anyPressure } from '#adapters/process/any-pressure.ts';
import { busyLoop } from '#adapters/process/busy-loop.ts';
import { processorPressure } from '#adapters/process/processor-pressure.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import type { WorkerConfig } from '#domain/foundation/kernel/config.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';

/**
 * Documents of connectors that begin in a second while turns of responses do; a quarter of it under pressure, and up to
 * the eightfold without.
 */
const documentsPerSecond = 200;
/** The same of documents that are uploaded, each of which is a workflow. */
const uploadsPerSecond = 8;
/**
 * The same while passages are embedded: the processes of the builtin model have the least right to a processor, and
 * would stand still while many documents are read.
 */
const uploadsPerSecondBesideEmbedding = 16;
/**
 * The same of hundreds of passages whose vectors are known: such a passage costs no model, but the database ten
 * milliseconds a hundred, and a tenant may send documents of such texts alone.
 */
const reusePerSecond = 8;
/** The same of passages that the builtin model embeds, each some 15 to 40 ms of a processor. */
const passagesPerSecond = 20;
/**
 * On two processors whatever calculates all the time makes a response take longer, though this event loop waits for no
 * processor: the model has about half of one while responses begin.
 */
const maxPassagesFactor = availableParallelism() > 2 ? 8 : 2;

type Turns = Pick<BulkTurns, 'take'>;

export interface WorkerPaces {
  /** Turns and tool calls of responses, of each tenant. */
  turns: ContendedPace;
  /** Workflows that the relay starts, of each tenant. */
  starts: AdaptiveRate;
  documents: BulkTurns;
  uploads: Turns;
  reuse: Turns;
  passages: BulkTurns;
}

/**
 * Bulk work gives way while a turn or a tool call of a response has begun within the last seconds, and the reading of
 * documents also to their embedding.
 */
export function workerPaces(config: WorkerConfig): WorkerPaces {
  const pressure = processorPressure();
  const bulkPressure = anyPressure(busyLoop(), pressure);
  const turns = new ContendedPace({
    burst: config.TURN_BURST_PER_TENANT,
    perSecond: config.TURNS_PER_SECOND_PER_TENANT,
    pressure,
  });
  const giveWay = (
    perSecond: number,
    { isContended = () => turns.isUsed(), ...bound }: { isContended?: () => boolean; most?: number } = {},
  ) =>
    new BulkTurns({
      rate: new AdaptiveRate({ perSecond, ...bound, pressure: bulkPressure, isDemandPaced: true }),
      isContended,
    });
  const passages = giveWay(passagesPerSecond, { most: maxPassagesFactor });
  return {
    turns,
    starts: new AdaptiveRate({ perSecond: config.STARTS_PER_SECOND_PER_TENANT, pressure }),
    documents: giveWay(documentsPerSecond),
    uploads: inTurn(
      giveWay(uploadsPerSecond),
      giveWay(uploadsPerSecondBesideEmbedding, { isContended: () => passages.isUsed() }),
    ),
    reuse: giveWay(reusePerSecond),
    passages,
  };
}

/** A unit that waits for its turn of each kind. */
const inTurn = (...kinds: readonly Turns[]): Turns => ({
  take: async (tenantId, signal) => {
    for (const turns of kinds) await turns.take(tenantId, signal);
  },
});
