import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import type { PiiEntry } from './redact.ts';

/**
 * Records that personal data was found: kinds and counts, never values. Once for each response or message.
 * @returns the number of replacements
 */
export async function recordDetection(
  em: EntityManager,
  actor: Actor,
  detection: {
    resource: { type: 'response' | 'thread'; id: string };
    spaceId: string;
    dedupeKey: string;
    found: readonly PiiEntry[];
  },
): Promise<number> {
  const { resource, spaceId, dedupeKey } = detection;
  const counts: Record<string, number> = {};
  for (const { type, count } of detection.found) {
    if (type !== 'text') {
      counts[type] = (counts[type] ?? 0) + count;
    }
  }
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total > 0) {
    const metadata = { space_id: spaceId, total, ...counts };
    await recordEvent(em, actor, { type: 'security.pii_detected', resource, metadata, dedupeKey });
  }
  return total;
}
