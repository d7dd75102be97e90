import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { PiiSettings } from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry } from './redact.ts';

/** @throws `content_blocked` with the kinds, never the data */
export function rejectBlockedContent(demand: PiiSettings, found: readonly PiiEntry[], spaceId: string): void {
  const kinds = [...new Set(found.map(({ type }) => type))].filter((kind) => kind !== 'text');
  if (demand.mode === 'block' && kinds.length > 0) {
    throw new DomainError('content_blocked', `This space takes no personal data: ${kinds.join(', ')}.`, {
      scope: { type: 'space', id: spaceId },
    });
  }
}
